"""A detection head with decoding and greedy suppression by indexing."""

import torch
import torch.nn.functional as F
from torch import nn


def overlap(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    low = torch.maximum(a[:, None, :2], b[None, :, :2])
    high = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    size = (high - low).clamp(min=0)
    common = size[..., 0] * size[..., 1]
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return common / (area_a[:, None] + area_b[None, :] - common + 1e-6)


def suppress(boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    order = torch.argsort(scores, descending=True)
    boxes = boxes[order]
    upper = torch.triu(overlap(boxes, boxes), diagonal=1)
    keep = upper.max(dim=0).values < 0.5
    return order[keep]


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.scores = nn.Conv2d(8, 1, 1)
        self.boxes = nn.Conv2d(8, 4, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = F.relu(self.conv(x))
        scores = self.scores(h).flatten(1).sigmoid()
        raw = self.boxes(h).flatten(2).transpose(1, 2)
        centre, size = raw[..., :2], raw[..., 2:].exp()
        boxes = torch.cat([centre - size / 2, centre + size / 2], dim=-1)
        return scores, boxes


def step(device: str) -> None:
    model = Head().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scores, boxes = model(torch.randn(1, 8, 4, 4, device=device))
    with torch.no_grad():
        suppress(boxes[0], scores[0])
    target = torch.zeros(1, 16, device=device)
    loss = F.binary_cross_entropy(scores, target) + F.smooth_l1_loss(boxes, boxes.detach() + 1)
    loss.backward()
    optimizer.step()
