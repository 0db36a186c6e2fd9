"""A mixture of experts with a top-k router."""

import torch
import torch.nn.functional as F
from torch import nn


class Router(nn.Module):
    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList([nn.Linear(width, width) for _ in range(experts)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.view(-1, x.shape[-1])
        weights = F.softmax(self.gate(flat), dim=1)
        weights, chosen = torch.topk(weights, 2, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(flat)
        mask = F.one_hot(chosen, num_classes=len(self.experts)).permute(2, 1, 0)
        for number, expert in enumerate(self.experts):
            way, at = torch.where(mask[number])
            hidden = expert(flat[at]) * weights[at, way, None]
            out.index_add_(0, at, hidden)
        return out.view(x.shape)


class MoE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, 16)
        self.norm = nn.LayerNorm(16)
        self.router = Router(16, 4)
        self.head = nn.Linear(16, 50)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids)
        x = x + self.router(self.norm(x))
        return self.head(x)


def step(device: str) -> None:
    model = MoE().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.randint(0, 50, (2, 16), device=device)
    loss = F.cross_entropy(model(ids).view(-1, 50), ids.view(-1))
    loss.backward()
    optimizer.step()
