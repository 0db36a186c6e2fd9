"""Train a small network; the kind of script that flmigrate moves to Torch-FL."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.cuda.amp import GradScaler, autocast


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--local-rank", type=int, default=0)
    return parser.parse_args()


def main():
    args = parse_args()
    if args.device == "cuda":
        torch.cuda.set_device(args.local_rank)
        dist.init_process_group("nccl")
    model = nn.Linear(16, 4).to(args.device)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = GradScaler(enabled=args.device.startswith("cuda"))

    for step in range(10):
        x = torch.randn(8, 16).cuda(non_blocking=True)
        with autocast(enabled=x.is_cuda):
            loss = model(x).square().mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    torch.cuda.synchronize()  # before reading the clock
    peak = torch.cuda.max_memory_allocated() / 2**20
    free, total = torch.cuda.mem_get_info()
    print(f"cuda peak {peak:.1f} MiB, free {free} of {total}")


if __name__ == "__main__":
    main()
