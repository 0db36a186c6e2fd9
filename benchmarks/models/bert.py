"""BERT with a masked-language-model head, attention written out."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.size(0), x.size(1), self.heads, self.size).permute(0, 2, 1, 3)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.size)
        scores = scores + mask
        weights = self.drop(torch.softmax(scores, dim=-1))
        y = torch.matmul(weights, v).permute(0, 2, 1, 3).contiguous()
        return self.out(y.view(x.size(0), x.size(1), -1))


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = Attention(width, 4)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, width * 4), nn.Linear(width * 4, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(100, 32)
        self.positions = nn.Embedding(16, 32)
        self.norm = nn.LayerNorm(32)
        self.drop = nn.Dropout(0.1)
        self.layers = nn.ModuleList([Layer(32) for _ in range(2)])
        self.head = nn.Linear(32, 100)

    def forward(self, ids: torch.Tensor, attention: torch.Tensor) -> torch.Tensor:
        places = torch.arange(ids.size(1), device=ids.device)
        x = self.drop(self.norm(self.words(ids) + self.positions(places)))
        mask = (1.0 - attention[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(x)


def step(device: str) -> None:
    model = Bert().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.randint(0, 100, (2, 8), device=device)
    logits = model(ids, torch.ones(2, 8, device=device))
    loss = F.cross_entropy(logits.view(-1, 100), ids.view(-1))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
