"""Logs the memory of the device while a model trains, and frees it between phases."""
import gc
import json

import torch
import torch.nn as nn


def print_memory(tag):
    allocated = torch.cuda.memory_allocated() / 1024**2
    reserved = torch.cuda.memory_reserved() / 1024**2
    peak = torch.cuda.max_memory_allocated() / 1024**2
    print(f"[{tag}] allocated {allocated:.2f} MB, reserved {reserved:.2f} MB, peak {peak:.2f} MB")
    return torch.cuda.memory_allocated()


def cleanup():
    gc.collect()
    torch.cuda.empty_cache()


device = torch.device("cuda")
torch.manual_seed(0)
torch.cuda.reset_peak_memory_stats()
base = print_memory("start")
big = torch.zeros(256, 1024, device=device)
held = print_memory("tensor") - base
del big
cleanup()
freed = print_memory("freed") == base

model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
losses = []
for step in range(5):
    x = torch.randn(64, 128, device=device)
    y = torch.randint(0, 10, (64,), device=device)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 2 == 0:
        print_memory(f"step {step}")
peak_ok = torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated() > 0
print(json.dumps({"held": held, "freed": freed, "losses": losses, "peak": peak_ok}))
