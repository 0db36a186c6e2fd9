"""Bags of categories and numbers, crossed pairwise, for a click."""

import torch
from torch import nn


class Recommender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(20, 8, mode="sum") for _ in range(3))
        self.numbers = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.BatchNorm1d(8))
        self.top = nn.Sequential(nn.Linear(14, 8), nn.PReLU(), nn.Linear(8, 1))

    def forward(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        dense = self.numbers(numbers)
        parts = [dense] + [bag(categories[i]) for i, bag in enumerate(self.bags)]
        stacked = torch.stack(parts, dim=1)
        crossed = torch.bmm(stacked, stacked.transpose(1, 2))
        rows, columns = torch.tril_indices(4, 4, offset=-1, device=crossed.device)
        return self.top(torch.cat([dense, crossed[:, rows, columns]], dim=1)).squeeze(1)


def step(device: str) -> None:
    model = Recommender().to(device)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
    numbers = torch.randn(4, 5, device=device)
    categories = torch.randint(0, 20, (3, 4, 2), device=device)
    clicks = torch.randint(0, 2, (4,), device=device).float()
    loss = nn.BCEWithLogitsLoss()(model(numbers, categories), clicks)
    loss.backward()
    optimizer.step()
