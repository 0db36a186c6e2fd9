"""Denoising diffusion: the schedule on the device, a training loop and a sampling loop."""
import json
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda")
T = 20


def linear_beta_schedule(timesteps):
    return torch.linspace(1e-4, 0.02, timesteps, device=device)


betas = linear_beta_schedule(T)
alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)
sqrt_ac, sqrt_1m_ac = alphas_cumprod.sqrt(), (1 - alphas_cumprod).sqrt()


def extract(a, t, x_shape):
    out = a.gather(-1, t)
    return out.reshape(t.shape[0], *((1,) * (len(x_shape) - 1))).to(t.device)


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        half = self.dim // 2
        emb = torch.exp(torch.arange(half, device=time.device) * -(math.log(10000) / (half - 1)))
        emb = time[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.time = nn.Sequential(TimeEmbedding(dim), nn.Linear(dim, dim), nn.SiLU())
        self.inp = nn.Conv2d(1, dim, 3, padding=1)
        self.norm = nn.GroupNorm(4, dim)
        self.mid = nn.Conv2d(dim, dim, 3, padding=1)
        self.out = nn.Conv2d(dim, 1, 3, padding=1)

    def forward(self, x, t):
        h = self.inp(x) + self.time(t)[:, :, None, None]
        h = h + F.silu(self.mid(self.norm(h)))
        return self.out(F.silu(h))


def p_losses(model, x0, t):
    noise = torch.randn_like(x0)
    noisy = extract(sqrt_ac, t, x0.shape) * x0 + extract(sqrt_1m_ac, t, x0.shape) * noise
    return F.smooth_l1_loss(noise, model(noisy, t))


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 1, 8, 8, device=device)
    for i in reversed(range(T)):
        t = torch.full((n,), i, device=device, dtype=torch.long)
        beta, ac = betas[i], alphas_cumprod[i]
        mean = (x - beta / (1 - ac).sqrt() * model(x, t)) / (1 - beta).sqrt()
        x = mean + beta.sqrt() * torch.randn_like(x) if i > 0 else mean
    return x.clamp(-1, 1)


torch.manual_seed(0)
torch.cuda.manual_seed_all(0)
model = Denoiser().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
losses = []
for step in range(10):
    optimizer.zero_grad()
    batch = (torch.rand(8, 1, 8, 8) * 2 - 1).to(device)
    t = torch.randint(0, T, (8,), device=device).long()
    loss = p_losses(model, batch, t)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
images = sample(model, 4)
print(json.dumps({"losses": losses, "mean": images.mean().item(), "std": images.std().item()}))
