"""A generator and a discriminator, one step of each."""

import torch
import torch.nn.functional as F
from torch import nn


class Generator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.start = nn.ConvTranspose2d(8, 16, 4)
        self.norm = nn.BatchNorm2d(16)
        self.end = nn.ConvTranspose2d(16, 3, 4, 2, 1)

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.end(F.relu(self.norm(self.start(z)))))


class Discriminator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 4, 2, 1)
        self.act = nn.LeakyReLU(0.2)
        self.head = nn.Linear(16 * 4 * 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.act(self.conv(x)).flatten(1))


def step(device: str) -> None:
    generator, discriminator = Generator().to(device), Discriminator().to(device)
    first = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    second = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    real = torch.randn(4, 3, 8, 8, device=device)
    fake = generator(torch.randn(4, 8, 1, 1, device=device))
    ones, zeros = torch.ones(4, 1, device=device), torch.zeros(4, 1, device=device)
    loss = F.binary_cross_entropy_with_logits(discriminator(real), ones)
    loss = loss + F.binary_cross_entropy_with_logits(discriminator(fake.detach()), zeros)
    loss.backward()
    second.step()
    loss = F.binary_cross_entropy_with_logits(discriminator(fake), ones)
    loss.backward()
    first.step()
