"""Recomputes activations in the backward pass; dropout has to be replayed from the device's state."""
import json

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1, self.fc2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        return x + self.drop(self.fc2(torch.relu(self.fc1(self.norm(x)))))


class Model(nn.Module):
    def __init__(self, dim=24, depth=4, use_checkpoint=True):
        super().__init__()
        self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])
        self.tail = nn.Sequential(*[nn.Linear(dim, dim) for _ in range(4)])
        self.head = nn.Linear(dim, 3)
        self.use_checkpoint = use_checkpoint

    def forward(self, x):
        for block in self.blocks:
            if self.use_checkpoint and self.training:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        if self.training:
            x = checkpoint_sequential(self.tail, 2, x, use_reentrant=False)
        return self.head(x)


def run(use_checkpoint):
    torch.manual_seed(6)
    torch.cuda.manual_seed(6)
    model = Model(use_checkpoint=use_checkpoint).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(10, 24).cuda()
    y = torch.randint(3, (10,)).cuda()
    before = torch.cuda.memory_allocated()
    losses = []
    for _ in range(4):
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    print(f"checkpoint={use_checkpoint}: {torch.cuda.memory_allocated() - before} bytes more")
    return losses


def main():
    with_checkpoint, without = run(True), run(False)
    print(json.dumps({"with": with_checkpoint, "without": without, "same": with_checkpoint == without}))


if __name__ == "__main__":
    main()
