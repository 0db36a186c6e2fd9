"""ResNet-50, narrow."""

import torch
import torch.nn.functional as F
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, wide: int, narrow: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(wide, narrow, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(narrow)
        self.conv2 = nn.Conv2d(narrow, narrow, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(narrow)
        self.conv3 = nn.Conv2d(narrow, narrow * 4, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(narrow * 4)
        self.down = nn.Conv2d(wide, narrow * 4, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        y = F.relu(self.norm2(self.conv2(y)))
        y = self.norm3(self.conv3(y))
        return F.relu(y + self.down(x))


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(3, 2, 1)
        blocks = [(8, 4, 1, 3), (16, 8, 2, 4), (32, 16, 2, 6), (64, 32, 2, 3)]
        layers = []
        for wide, narrow, stride, depth in blocks:
            layers.append(Bottleneck(wide, narrow, stride))
            layers += [Bottleneck(narrow * 4, narrow) for _ in range(depth - 1)]
        self.layers = nn.Sequential(*layers)
        self.average = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(128, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(F.relu(self.norm(self.stem(x))))
        x = self.average(self.layers(x))
        return self.head(torch.flatten(x, 1))


def step(device: str) -> None:
    model = ResNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(2, 3, 64, 64, device=device)
    loss = F.cross_entropy(model(x), torch.tensor([0, 1]).to(device))
    loss.backward()
    optimizer.step()
