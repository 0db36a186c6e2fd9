"""Finds the largest batch that fits by catching out-of-memory errors, then trains with it."""
import gc
import json

import torch
import torch.nn as nn

LIMIT = 48  # stands for what fits into the memory of the card


def is_oom(error):
    return isinstance(error, torch.cuda.OutOfMemoryError) or "out of memory" in str(error)


def step(model, optimizer, batch_size):
    if batch_size > LIMIT:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    x = torch.randn(batch_size, 16, device="cuda")
    loss = (model(x) - x[:, :4]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def find_batch_size(model, optimizer, start=8):
    size, tried = start, []
    while True:
        try:
            step(model, optimizer, size)
            tried.append(size)
            size *= 2
        except RuntimeError as error:
            if not is_oom(error):
                raise
            gc.collect()
            torch.cuda.empty_cache()
            return tried[-1], tried


def main():
    torch.manual_seed(14)
    model = nn.Sequential(nn.Linear(16, 32), nn.ELU(), nn.Linear(32, 4)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch_size, tried = find_batch_size(model, optimizer)
    losses, retries = [], 0
    wanted = 64
    while len(losses) < 5:
        try:
            losses.append(step(model, optimizer, wanted))
        except torch.cuda.OutOfMemoryError as e:
            print(f"{e}: retry with half the batch")
            torch.cuda.empty_cache()
            wanted //= 2
            retries += 1
    print(json.dumps({"batch_size": batch_size, "tried": tried, "retries": retries, "losses": losses}))


if __name__ == "__main__":
    main()
