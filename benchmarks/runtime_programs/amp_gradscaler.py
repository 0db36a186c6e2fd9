"""Mixed precision with torch.cuda.amp, gradient clipping and a saved scaler."""
import json

import torch
import torch.nn as nn
from torch.cuda.amp import GradScaler, autocast

torch.manual_seed(0)
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = False


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 8 * 8, 10)

    @autocast()
    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        return self.fc(x.flatten(1))


def train_epoch(model, data, target, optimizer, scaler):
    total = 0.0
    for i in range(0, len(data), 8):
        x = data[i:i + 8].cuda(non_blocking=True)
        y = target[i:i + 8].cuda(non_blocking=True)
        optimizer.zero_grad()
        with autocast():
            out = model(x)
            assert out.dtype is torch.float16
            loss = nn.functional.cross_entropy(out, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=2.0)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
    return total


def main():
    data, target = torch.randn(32, 1, 8, 8), torch.randint(10, (32,))
    model = Net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = GradScaler(init_scale=2.0**10, growth_interval=4)
    losses = [train_epoch(model, data, target, optimizer, scaler) for _ in range(3)]
    state = scaler.state_dict()
    with torch.cuda.amp.autocast(enabled=False), torch.no_grad():
        check = nn.functional.linear(data.flatten(1).cuda()[:, :4], torch.eye(4).cuda())
    assert check.dtype == torch.float32
    print(json.dumps({"losses": losses, "scale": state["scale"], "check": check.sum().item()}))


if __name__ == "__main__":
    main()
