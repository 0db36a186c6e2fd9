"""A 3-D convolutional network for clips."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv3d(3, 8, 3, padding=1), nn.BatchNorm3d(8)
        self.conv2, self.norm2 = nn.Conv3d(8, 16, 3, padding=1), nn.BatchNorm3d(16)
        self.pool = nn.MaxPool3d(2)
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(torch.relu(self.norm1(self.conv1(x))))
        x = self.pool(torch.relu(self.norm2(self.conv2(x))))
        return self.head(x.mean(dim=(2, 3, 4)))


def step(device: str) -> None:
    model = Model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(2, 3, 8, 8, 8, device=device)
    loss = F.cross_entropy(model(x), torch.tensor([0, 1]).to(device))
    loss.backward()
    optimizer.step()
