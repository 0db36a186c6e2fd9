"""A stack of dilated causal convolutions with gates, as for sound."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.filter = nn.Conv1d(channels, channels, 2, dilation=dilation)
        self.gate = nn.Conv1d(channels, channels, 2, dilation=dilation)
        self.mix = nn.Conv1d(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padded = F.pad(x, (self.dilation, 0))
        y = torch.tanh(self.filter(padded)) * torch.sigmoid(self.gate(padded))
        return x + self.mix(y)


class Wavenet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(32, 8)
        self.blocks = nn.ModuleList(Block(8, 2**power) for power in range(3))
        self.head = nn.Conv1d(8, 32, 1)

    def forward(self, samples: torch.Tensor) -> torch.Tensor:
        x = self.embed(samples).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return self.head(F.leaky_relu(x, 0.1))


def step(device: str) -> None:
    model = Wavenet().to(device)
    optimizer = torch.optim.RMSprop(model.parameters())
    samples = torch.randint(0, 32, (2, 20), device=device)
    scores = model(samples[:, :-1])
    loss = F.nll_loss(F.log_softmax(scores, dim=1), samples[:, 1:])
    loss.backward()
    optimizer.step()
