"""An own dataset, worker processes, pinned memory, a collate function and a weighted sampler."""
import json

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class Sequences(Dataset):
    def __init__(self, n):
        generator = torch.Generator().manual_seed(3)
        self.items = [torch.randint(1, 30, (int(k),), generator=generator) for k in torch.randint(3, 12, (n,), generator=generator)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return {"ids": self.items[i], "label": int(self.items[i].sum()) % 3}


def collate(batch):
    ids = nn.utils.rnn.pad_sequence([b["ids"] for b in batch], batch_first=True)
    return {"ids": ids, "label": torch.tensor([b["label"] for b in batch])}


def worker_init_fn(worker_id):
    torch.manual_seed(100 + worker_id)


class Mean(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16, padding_idx=0)
        self.out = nn.Linear(16, 3)

    def forward(self, ids):
        mask = (ids != 0).unsqueeze(-1)
        return self.out((self.embed(ids) * mask).sum(1) / mask.sum(1))


def main():
    torch.manual_seed(0)
    data = Sequences(48)
    labels = torch.tensor([data[i]["label"] for i in range(len(data))])
    weights = 1.0 / torch.bincount(labels, minlength=3).float()[labels]
    sampler = WeightedRandomSampler(weights, len(data), generator=torch.Generator().manual_seed(1))
    loader = DataLoader(
        data, batch_size=8, sampler=sampler, collate_fn=collate, num_workers=2, pin_memory=torch.cuda.is_available(),
        worker_init_fn=worker_init_fn, persistent_workers=True, drop_last=True,
    )
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    model = Mean().to(device)
    optimizer = torch.optim.RAdam(model.parameters(), lr=0.05)
    losses, count = [], 0
    for epoch in range(2):
        for batch in loader:
            batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}
            loss = nn.functional.cross_entropy(model(batch["ids"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            count += len(batch["label"])
    print(json.dumps({"losses": losses, "count": count}))


if __name__ == "__main__":
    main()
