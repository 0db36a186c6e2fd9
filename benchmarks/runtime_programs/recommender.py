"""Click prediction with embedding bags and feature crosses; settings live in a dictionary."""
import json

import torch
import torch.nn as nn

CONFIG = {
    "device": "cuda",
    "seed": 17,
    "model": {"tables": [100, 50, 20], "dim": 8, "dense": 6},
    "train": {"steps": 10, "batch": 32, "lr": 0.1},
    "loader": {"pin_memory": True},
}


class DLRM(nn.Module):
    def __init__(self, tables, dim, dense, device=None):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(n, dim, mode="sum", device=device) for n in tables)
        self.bottom = nn.Sequential(nn.Linear(dense, 16, device=device), nn.ReLU(), nn.Linear(16, dim, device=device))
        pairs = (len(tables) + 1) * len(tables) // 2
        self.top = nn.Sequential(nn.Linear(dim + pairs, 16, device=device), nn.ReLU(), nn.Linear(16, 1, device=device))

    def forward(self, dense, sparse):
        d = self.bottom(dense)
        vectors = [d] + [bag(indices, offsets) for bag, (indices, offsets) in zip(self.bags, sparse)]
        stacked = torch.stack(vectors, dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        n = stacked.size(1)
        li = torch.tensor([i for i in range(n) for j in range(i)])
        lj = torch.tensor([j for i in range(n) for j in range(i)])
        return self.top(torch.cat([d, products[:, li, lj]], dim=1)).squeeze(1)


def make_batch(config):
    size = config["train"]["batch"]
    dense = torch.rand(size, config["model"]["dense"])
    sparse = []
    for rows in config["model"]["tables"]:
        lengths = torch.randint(1, 4, (size,))
        offsets = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)[:-1]])
        sparse.append((torch.randint(rows, (int(lengths.sum()),)), offsets))
    click = (dense.sum(1) > 3).float()
    return dense, sparse, click


def run(config):
    device = torch.device(config["device"])
    torch.manual_seed(config["seed"])
    torch.cuda.manual_seed(config["seed"])
    model = DLRM(**config["model"], device=device)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=config["train"]["lr"])
    criterion = nn.BCEWithLogitsLoss()
    losses = []
    for _ in range(config["train"]["steps"]):
        dense, sparse, click = make_batch(config)
        if config["loader"]["pin_memory"]:
            dense, click = dense.pin_memory(), click.pin_memory()
        dense, click = dense.to(device, non_blocking=True), click.to(config["device"], non_blocking=True)
        sparse = [(i.to(device), o.to(device)) for i, o in sparse]
        loss = criterion(model(dense, sparse), click)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    print(json.dumps({"losses": run(CONFIG)}))
