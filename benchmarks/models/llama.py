"""A Llama-like decoder: RMSNorm, SwiGLU, rotary embeddings."""

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        variance = x.float().pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + 1e-6))


def rotate(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.q, self.k = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.v, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 64, bias=False)
        self.up = nn.Linear(width, 64, bias=False)
        self.down = nn.Linear(64, width, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        h = self.norm1(x)
        q = self.q(h).view(b, t, self.heads, self.size).transpose(1, 2)
        k = self.k(h).view(b, t, self.heads, self.size).transpose(1, 2)
        v = self.v(h).view(b, t, self.heads, self.size).transpose(1, 2)
        q, k = q * cos + rotate(q) * sin, k * cos + rotate(k) * sin
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).contiguous().view(b, t, c))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(100, 32)
        self.layers = nn.ModuleList([Layer(32, 4) for _ in range(2)])
        self.norm = RMSNorm(32)
        self.head = nn.Linear(32, 100, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids)
        places = torch.arange(ids.shape[1], device=ids.device).float()
        steps = torch.arange(0, 8, 2, device=ids.device).float()
        frequencies = 1.0 / (10000.0 ** (steps / 8))
        angles = torch.outer(places, frequencies)
        angles = torch.cat((angles, angles), dim=-1)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin())
        return self.head(self.norm(x))


def step(device: str) -> None:
    model = Llama().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.randint(0, 100, (2, 8), device=device)
    loss = F.cross_entropy(model(ids).view(-1, 100), ids.view(-1))
    loss.backward()
    optimizer.step()
