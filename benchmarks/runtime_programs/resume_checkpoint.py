"""Saves model, optimizer, scheduler and random state; loads them again with map_location."""
import json
import os
import tempfile

import torch
import torch.nn as nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 20), nn.BatchNorm1d(20), nn.ReLU(), nn.Dropout(0.3), nn.Linear(20, 2))

    def forward(self, x):
        return self.body(x)


def build(device):
    model = Classifier().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    return model, optimizer, scheduler


def save_checkpoint(path, epoch, model, optimizer, scheduler):
    torch.save({
        "epoch": epoch,
        "state_dict": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "rng": torch.get_rng_state(),
        "cuda_rng": torch.cuda.get_rng_state_all(),
    }, path)


def load_checkpoint(path, gpu, model, optimizer, scheduler):
    if gpu is None:
        checkpoint = torch.load(path)
    else:
        # Map model to be loaded to specified single gpu.
        loc = "cuda:{}".format(gpu)
        checkpoint = torch.load(path, map_location=loc, weights_only=True)
    model.load_state_dict(checkpoint["state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    torch.set_rng_state(checkpoint["rng"].cpu())
    torch.cuda.set_rng_state_all([state.cpu() for state in checkpoint["cuda_rng"]])
    return checkpoint["epoch"] + 1


def train(model, optimizer, scheduler, device, first, last, x, y):
    losses = []
    for epoch in range(first, last):
        model.train()
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


def main():
    gpu = 0
    device = torch.device("cuda", gpu)
    torch.manual_seed(15)
    x, y = torch.randn(30, 6), torch.randint(2, (30,))
    model, optimizer, scheduler = build(device)
    first = train(model, optimizer, scheduler, device, 0, 3, x, y)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pth.tar")
        save_checkpoint(path, 2, model, optimizer, scheduler)
        straight = train(model, optimizer, scheduler, device, 3, 6, x, y)
        model, optimizer, scheduler = build(device)
        start = load_checkpoint(path, gpu, model, optimizer, scheduler)
        resumed = train(model, optimizer, scheduler, device, start, 6, x, y)
        on_cpu = torch.load(path, map_location=lambda storage, loc: storage, weights_only=True)
    print(json.dumps({
        "first": first, "straight": straight, "resumed": resumed, "same": straight == resumed,
        "place": on_cpu["state_dict"]["body.0.weight"].device.type,
    }))


if __name__ == "__main__":
    main()
