"""bfloat16 where the GPU can do it, with autocast and an optional fallback to float16."""
import json
from contextlib import nullcontext

import torch
import torch.nn as nn


def pick_dtype(device):
    if device.type != "cuda":
        return torch.float32
    if torch.cuda.is_bf16_supported():
        return torch.bfloat16
    major, minor = torch.cuda.get_device_capability(device)
    print(f"compute capability {major}.{minor}: float16")
    return torch.float16


def main():
    torch.manual_seed(21)
    device = torch.device("cuda", 0)
    torch.cuda.set_device(device)
    amp_dtype = pick_dtype(device)
    context = torch.autocast("cuda", dtype=torch.bfloat16) if amp_dtype != torch.float32 else nullcontext()
    model = nn.Sequential(nn.Linear(16, 64), nn.LayerNorm(64), nn.SiLU(), nn.Linear(64, 4)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, foreach=True)
    x, y = torch.randn(40, 16, device=device), torch.randn(40, 4, device=device)
    losses = []
    for step in range(12):
        with context:
            output = model(x)
            loss = nn.functional.mse_loss(output, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    with torch.no_grad(), torch.autocast(device_type=x.device.type, dtype=torch.bfloat16):
        product = x @ x.t()
    print("used", product.dtype, "on", torch.cuda.get_device_name(0))
    print(json.dumps({"losses": losses, "dtype": str(product.dtype), "trace": product.float().trace().item()}))


if __name__ == "__main__":
    main()
