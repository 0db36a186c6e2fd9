"""Masked language modelling with an encoder of torch's own layers."""
import json
import logging
import random

import torch
from torch import nn

logging.basicConfig(level=logging.INFO)
logger = logging.getLogger(__name__)
MASK, VOCAB, PAD = 1, 60, 0


def set_seed(seed):
    random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)


class Bert(nn.Module):
    def __init__(self, hidden=32, layers=2, heads=4, length=24):
        super().__init__()
        self.word = nn.Embedding(VOCAB, hidden, padding_idx=PAD)
        self.position = nn.Embedding(length, hidden)
        layer = nn.TransformerEncoderLayer(hidden, heads, 64, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.decoder = nn.Linear(hidden, VOCAB)
        self.register_buffer("position_ids", torch.arange(length).expand((1, -1)))

    def forward(self, input_ids, attention_mask):
        x = self.word(input_ids) + self.position(self.position_ids[:, : input_ids.size(1)])
        x = self.encoder(x, src_key_padding_mask=attention_mask == 0)
        return self.decoder(x)


def mask_tokens(inputs, probability=0.3):
    labels = inputs.clone()
    matrix = torch.full(labels.shape, probability)
    matrix.masked_fill_(labels == PAD, 0.0)
    masked = torch.bernoulli(matrix).bool()
    labels[~masked] = -100
    inputs[masked] = MASK
    return inputs, labels


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    n_gpu = torch.cuda.device_count()
    logger.info("device: %s, n_gpu: %s", device, n_gpu)
    set_seed(11)
    model = Bert()
    model.to(device)
    if n_gpu > 1:
        model = torch.nn.DataParallel(model)
    no_decay = ["bias", "norm"]
    grouped = [
        {"params": [p for n, p in model.named_parameters() if not any(d in n for d in no_decay)], "weight_decay": 0.01},
        {"params": [p for n, p in model.named_parameters() if any(d in n for d in no_decay)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(grouped, lr=2e-3, eps=1e-8)
    losses = []
    for step in range(8):
        ids = torch.randint(2, VOCAB, (6, 24))
        for row in range(6):
            ids[row, random.randint(12, 24):] = PAD
        attention = (ids != PAD).long()
        ids, labels = mask_tokens(ids)
        batch = tuple(t.to(device) for t in (ids, attention, labels))
        logits = model(batch[0], batch[1])
        loss = nn.CrossEntropyLoss()(logits.view(-1, VOCAB), batch[2].view(-1))
        if n_gpu > 1:
            loss = loss.mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        model.zero_grad()
        losses.append(loss.item())
    perplexity = torch.exp(torch.tensor(losses[-1])).item()
    print(json.dumps({"losses": losses, "perplexity": perplexity}))


if __name__ == "__main__":
    main()
