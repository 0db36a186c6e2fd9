"""Accumulates gradients over micro-batches, with a warm restart and a step counter on the device."""
import json
import time

import torch
import torch.nn as nn

args = dict(accumulation_steps=4, micro_batch=8, steps=5, local_rank=0)
device = torch.device(f"cuda:{args['local_rank']}")
torch.cuda.set_device(args["local_rank"])
torch.manual_seed(33)

model = nn.Sequential(nn.Linear(20, 40), nn.Tanh(), nn.Dropout(0.1), nn.Linear(40, 1))
model.cuda(args["local_rank"])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
loss_fn = nn.HuberLoss().cuda(device)
running = torch.zeros(1, device=device)
seen = torch.tensor(0, device=device, dtype=torch.int64)

start = time.time()
history = []
for step in range(args["steps"]):
    model.train()
    for micro in range(args["accumulation_steps"]):
        inputs = torch.randn(args["micro_batch"], 20)
        labels = inputs[:, :1].sin()
        inputs, labels = inputs.cuda(args["local_rank"]), labels.cuda(args["local_rank"])
        loss = loss_fn(model(inputs), labels) / args["accumulation_steps"]
        loss.backward()
        running += loss.detach()
        seen += inputs.shape[0]
    grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    optimizer.zero_grad()
    scheduler.step()
    history.append((running.item(), grad_norm.item()))
    running.zero_()
torch.cuda.synchronize(device)
print(f"{seen.item() / (time.time() - start):.0f} samples/s")
print(json.dumps({"history": history, "seen": int(seen), "lr": scheduler.get_last_lr()[0]}))
