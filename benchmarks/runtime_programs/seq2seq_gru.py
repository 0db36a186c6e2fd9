"""Translation with attention: encoder and decoder of GRUs, teacher forcing, packed sequences."""
import json
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

USE_CUDA = True
SOS, EOS, PAD = 1, 2, 0


class Encoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden, padding_idx=PAD)
        self.gru = nn.GRU(hidden, hidden, bidirectional=True)
        self.hidden = hidden

    def forward(self, seqs, lengths):
        packed = pack_padded_sequence(self.embedding(seqs), lengths)
        outputs, hidden = self.gru(packed)
        outputs, _ = pad_packed_sequence(outputs)
        return outputs[:, :, : self.hidden] + outputs[:, :, self.hidden:], hidden[:1]


class Attn(nn.Module):
    def forward(self, hidden, outputs):
        energy = torch.sum(hidden * outputs, dim=2).t()
        return torch.softmax(energy, dim=1).unsqueeze(1)


class Decoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.gru = nn.GRU(hidden, hidden)
        self.attn = Attn()
        self.concat = nn.Linear(2 * hidden, hidden)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, step, last, outputs):
        rnn_output, hidden = self.gru(self.embedding(step), last)
        context = self.attn(rnn_output, outputs).bmm(outputs.transpose(0, 1))
        joined = torch.cat((rnn_output.squeeze(0), context.squeeze(1)), 1)
        return self.out(torch.tanh(self.concat(joined))), hidden


random.seed(5)
torch.manual_seed(5)
vocab, hidden_size, batch = 20, 24, 6
encoder, decoder = Encoder(vocab, hidden_size), Decoder(vocab, hidden_size)
if USE_CUDA:
    encoder.cuda()
    decoder.cuda()
enc_opt = torch.optim.Adam(encoder.parameters(), lr=5e-3)
dec_opt = torch.optim.Adam(decoder.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)

history = []
for iteration in range(6):
    lengths = sorted((random.randint(3, 9) for _ in range(batch)), reverse=True)
    source = torch.zeros(lengths[0], batch, dtype=torch.long)
    for column, length in enumerate(lengths):
        source[:length, column] = torch.randint(3, vocab, (length,))
    target = source.flip(0)
    if USE_CUDA:
        source = source.cuda()
        target = target.cuda()
    enc_opt.zero_grad()
    dec_opt.zero_grad()
    outputs, hidden = encoder(source, lengths)
    decoder_input = torch.LongTensor([[SOS] * batch])
    if USE_CUDA:
        decoder_input = decoder_input.cuda()
    loss = 0
    teacher = random.random() < 0.5
    for t in range(target.size(0)):
        output, hidden = decoder(decoder_input, hidden, outputs)
        loss += criterion(output, target[t]) if (target[t] != PAD).any() else 0
        if teacher:
            decoder_input = target[t].view(1, -1)
        else:
            decoder_input = output.topk(1)[1].view(1, -1)
    loss.backward()
    nn.utils.clip_grad_norm_(encoder.parameters(), 50.0)
    nn.utils.clip_grad_norm_(decoder.parameters(), 50.0)
    enc_opt.step()
    dec_opt.step()
    history.append(loss.item() / target.size(0))
print(json.dumps({"history": history}))
