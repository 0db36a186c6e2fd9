"""A small GPT with a causal mask in a buffer."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)
        self.register_buffer(
            "bias", torch.tril(torch.ones(length, length)).view(1, 1, length, length)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.size()
        q, k, v = self.attend(self.norm1(x)).split(c, dim=2)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
        y = self.drop(F.softmax(scores, dim=-1)) @ v
        x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(100, 32), nn.Embedding(16, 32)
        self.blocks = nn.ModuleList([Block(32, 4, 16) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 100, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        places = torch.arange(0, ids.size(1), dtype=torch.long, device=ids.device)
        x = self.tokens(ids) + self.places(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def step(device: str) -> None:
    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.randint(0, 100, (2, 8), device=device)
    loss = F.cross_entropy(model(ids).view(-1, 100), ids.view(-1))
    loss.backward()
    optimizer.step()
