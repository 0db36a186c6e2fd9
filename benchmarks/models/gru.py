"""A GRU that classifies sequences."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.rnn = nn.GRU(16, 16)
        self.head = nn.Linear(16, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        y, _ = self.rnn(self.words(ids).transpose(0, 1))
        return self.head(torch.tanh(y.mean(dim=0)))


def step(device: str) -> None:
    model = Model().to(device)
    optimizer = torch.optim.Adam(model.parameters())
    ids = torch.randint(0, 50, (2, 6), device=device)
    loss = F.cross_entropy(model(ids), torch.tensor([0, 1]).to(device))
    loss.backward()
    optimizer.step()
