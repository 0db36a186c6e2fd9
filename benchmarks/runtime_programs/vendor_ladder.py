"""Runs on NVIDIA, Ascend and Apple: the ladder of checks that multi-vendor projects carry."""
import contextlib
import json

import torch
import torch.nn as nn

try:
    import torch_npu  # noqa: F401

    IS_NPU = hasattr(torch, "npu") and torch.npu.is_available()
except ImportError:
    IS_NPU = False


def is_npu_available():
    return IS_NPU


def get_device_name():
    if is_npu_available():
        return "npu"
    elif torch.cuda.is_available():
        return "cuda"
    elif torch.backends.mps.is_available():
        return "mps"
    return "cpu"


def synchronize():
    if is_npu_available():
        torch.npu.synchronize()
    elif torch.cuda.is_available():
        torch.cuda.synchronize()


def empty_cache():
    if is_npu_available():
        torch.npu.empty_cache()
    elif torch.cuda.is_available():
        torch.cuda.empty_cache()


def seed_all(seed):
    torch.manual_seed(seed)
    if is_npu_available():
        torch.npu.manual_seed_all(seed)
    elif torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)


def autocast_context(device_name, dtype):
    if device_name == "npu":
        return torch.npu.amp.autocast(dtype=dtype)
    if device_name == "cuda":
        return torch.cuda.amp.autocast(dtype=dtype)
    return contextlib.nullcontext()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(8, 32), nn.Linear(32, 2)

    def forward(self, x):
        return self.lin2(torch.nn.functional.mish(self.lin1(x)))


def main():
    seed_all(19)
    name = get_device_name()
    device = torch.device(name)
    model = Model().to(device)
    optimizer = torch.optim.ASGD(model.parameters(), lr=0.05)
    x, y = torch.randn(16, 8).to(device), torch.randn(16, 2).to(device)
    losses = []
    for _ in range(6):
        loss = nn.functional.l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    synchronize()
    with autocast_context(name, torch.bfloat16), torch.no_grad():
        rounded = model(x).float().sum().item()
    empty_cache()
    print(f"trained on {name}")
    print(json.dumps({"losses": losses, "rounded": round(rounded, 0)}))


if __name__ == "__main__":
    main()
