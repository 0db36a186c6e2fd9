"""A U-Net for segmentation."""

import torch
import torch.nn.functional as F
from torch import nn


class Double(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(before, after, 3, 1, 1), nn.Conv2d(after, after, 3, 1, 1)
        self.norm1, self.norm2 = nn.GroupNorm(2, after), nn.GroupNorm(2, after)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.silu(self.norm1(self.conv1(x)))
        return F.silu(self.norm2(self.conv2(x)))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down1, self.down2 = Double(3, 8), Double(8, 16)
        self.pool = nn.MaxPool2d(2)
        self.middle = Double(16, 32)
        self.up2, self.up1 = nn.ConvTranspose2d(32, 16, 2, 2), nn.Conv2d(16, 8, 1)
        self.out2, self.out1 = Double(32, 16), Double(16, 8)
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.down1(x)
        b = self.down2(self.pool(a))
        c = self.middle(self.pool(b))
        y = self.out2(torch.cat([self.up2(c), b], dim=1))
        y = F.interpolate(self.up1(y), scale_factor=2, mode="nearest")
        return self.head(self.out1(torch.cat([y, a], dim=1)))


def step(device: str) -> None:
    model = UNet().to(device)
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(2, 3, 16, 16, device=device)
    target = torch.ones(2, 1, 16, 16, device=device)
    loss = F.binary_cross_entropy_with_logits(model(x), target)
    loss.backward()
    optimizer.step()
