"""torch.compile where torch is new enough, with a graph break and another batch size."""
import json

import torch
import torch.nn as nn


class Mixer(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token = nn.Sequential(nn.Linear(tokens, 16), nn.GELU(), nn.Linear(16, tokens))
        self.channel = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, dim))

    def forward(self, x):
        x = x + self.token(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        if x.abs().mean() > 100:
            x = x / 100
        return x + self.channel(self.norm2(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Mixer(6, 12), Mixer(6, 12))
        self.head = nn.Linear(12, 4)

    def forward(self, x):
        return self.head(self.blocks(x).mean(1))


def main(compile=True, backend="eager"):
    torch.manual_seed(77)
    device = torch.device("cuda")
    model = Net().to(device)
    if compile and hasattr(torch, "compile"):
        model = torch.compile(model, backend=backend)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for step, batch in enumerate((16, 16, 16, 7)):
        x = torch.randn(batch, 6, 12, device=device)
        y = torch.randint(4, (batch,), device=device)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    torch.cuda.synchronize()

    @torch.compile(backend="aot_eager")
    def fused(a, b):
        return (a * b + torch.sin(a)).relu().sum()

    a = torch.linspace(-2, 2, 50, device="cuda", requires_grad=True)
    total = fused(a, a.detach())
    total.backward()
    print(json.dumps({"losses": losses, "total": total.item(), "grad": a.grad.sum().item()}))


if __name__ == "__main__":
    main()
