"""Two rounds of messages along the edges of a graph, summed at their ends."""

import torch
import torch.nn.functional as F
from torch import nn


class Round(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.message = nn.Linear(2 * width, width)
        self.update = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, sources: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        pairs = torch.cat([x.index_select(0, sources), x.index_select(0, ends)], dim=-1)
        messages = F.silu(self.message(pairs))
        total = torch.zeros_like(x).index_add(0, ends, messages)
        degree = torch.bincount(ends, minlength=x.size(0)).clamp(min=1)
        return F.relu(self.update(total / degree.unsqueeze(-1)) + x)


class Graph(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rounds = nn.ModuleList(Round(8) for _ in range(2))
        self.head = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor, sources: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        for one in self.rounds:
            x = one(x, sources, ends)
        return self.head(x.mean(dim=0, keepdim=True))


def step(device: str) -> None:
    model = Graph().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    nodes = torch.randn(6, 8, device=device)
    edges = torch.randint(0, 6, (2, 12), device=device)
    scores = model(nodes, edges[0], edges[1])
    loss = F.cross_entropy(scores, torch.randint(0, 3, (1,), device=device))
    loss.backward()
    optimizer.step()
