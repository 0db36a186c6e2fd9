"""Knowledge distillation: a frozen teacher on the GPU, a student that copies its logits."""
import copy
import json

import torch
import torch.nn as nn
import torch.nn.functional as F


def get_default_device():
    """Pick GPU if available, else CPU"""
    if torch.cuda.is_available():
        return torch.device("cuda")
    else:
        return torch.device("cpu")


def to_device(data, device):
    """Move tensor(s) to chosen device"""
    if isinstance(data, (list, tuple)):
        return [to_device(x, device) for x in data]
    return data.to(device, non_blocking=True)


class DeviceDataLoader:
    """Wrap a dataloader to move data to a device"""

    def __init__(self, dl, device):
        self.dl = dl
        self.device = device

    def __iter__(self):
        for b in self.dl:
            yield to_device(b, self.device)

    def __len__(self):
        return len(self.dl)


def mlp(width):
    return nn.Sequential(nn.Linear(12, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 5))


def kd_loss(student, teacher, labels, T=4.0, alpha=0.7):
    soft = F.kl_div(F.log_softmax(student / T, 1), F.softmax(teacher / T, 1), reduction="batchmean") * T * T
    return alpha * soft + (1 - alpha) * F.cross_entropy(student, labels)


torch.manual_seed(4)
device = get_default_device()
x, y = torch.randn(60, 12), torch.randint(5, (60,))
dl = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=20)
train_dl = DeviceDataLoader(dl, device)
teacher, student = to_device(mlp(64), device), to_device(mlp(8), device)

opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(4):
    for xb, yb in train_dl:
        loss = F.cross_entropy(teacher(xb), yb)
        loss.backward()
        opt.step()
        opt.zero_grad()
best = copy.deepcopy(teacher.state_dict())
teacher.load_state_dict(best)
teacher.eval()
for p in teacher.parameters():
    p.requires_grad_(False)

opt = torch.optim.NAdam(student.parameters(), lr=1e-2)
losses = []
for _ in range(4):
    for xb, yb in train_dl:
        with torch.no_grad():
            target = teacher(xb)
        loss = kd_loss(student(xb), target, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.detach().cpu().item())
agreement = (student(x.to(device)).argmax(1) == teacher(x.to(device)).argmax(1)).sum().cpu().numpy()
print(json.dumps({"losses": losses, "agreement": int(agreement)}))
