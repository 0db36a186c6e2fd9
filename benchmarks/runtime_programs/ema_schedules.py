"""Exponential moving average of the weights, two optimizers and three schedules in one loop."""
import copy
import json

import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


class ModelEMA:
    """Keeps a moving average of everything in the model state_dict (parameters and buffers)."""

    def __init__(self, model, decay=0.99, device=None):
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        self.device = device
        if self.device is not None:
            self.module.to(device=device)

    @torch.no_grad()
    def update(self, model):
        for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
            if self.device is not None:
                model_v = model_v.to(device=self.device)
            if ema_v.dtype.is_floating_point:
                ema_v.mul_(self.decay).add_(model_v, alpha=1 - self.decay)
            else:
                ema_v.copy_(model_v)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(5)
backbone = nn.Sequential(nn.Conv1d(4, 16, 3), nn.BatchNorm1d(16), nn.Hardswish()).to(device)
head = nn.Sequential(nn.AdaptiveMaxPool1d(4), nn.Flatten(), nn.Linear(64, 3)).to(device)
model = nn.Sequential(backbone, head)
ema = ModelEMA(model, 0.9)
ema_cpu = ModelEMA(model, 0.9, device="cpu")
swa = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))

slow = torch.optim.SGD(backbone.parameters(), lr=0.05, momentum=0.9, dampening=0.1)
fast = torch.optim.AdamW(head.parameters(), lr=0.01)
schedules = [
    torch.optim.lr_scheduler.SequentialLR(
        slow,
        [torch.optim.lr_scheduler.LinearLR(slow, 0.1, total_iters=3), torch.optim.lr_scheduler.MultiStepLR(slow, [3, 5])],
        milestones=[3],
    ),
    torch.optim.lr_scheduler.OneCycleLR(fast, max_lr=0.02, total_steps=10),
]
x, y = torch.randn(20, 4, 12, device=device), torch.randint(3, (20,), device=device)
losses = []
for step in range(8):
    loss = nn.functional.cross_entropy(model(x), y)
    slow.zero_grad()
    fast.zero_grad()
    loss.backward()
    slow.step()
    fast.step()
    for schedule in schedules:
        schedule.step()
    ema.update(model)
    ema_cpu.update(model)
    swa.update_parameters(model)
    losses.append(loss.item())
with torch.no_grad():
    averaged = nn.functional.cross_entropy(ema.module(x), y).item()
    on_cpu = nn.functional.cross_entropy(ema_cpu.module(x.cpu()), y.cpu()).item()
    swa_loss = nn.functional.cross_entropy(swa.module.eval()(x), y).item()
print(json.dumps({"losses": losses, "ema": averaged, "on_cpu": on_cpu, "swa": swa_loss, "count": int(swa.n_averaged)}))
