"""The prefetcher that copies and normalises the next batch in a stream of its own."""
import json

import torch
import torch.nn as nn


class data_prefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.mean = torch.tensor([0.485 * 255, 0.456 * 255, 0.406 * 255]).cuda().view(1, 3, 1, 1)
        self.std = torch.tensor([0.229 * 255, 0.224 * 255, 0.225 * 255]).cuda().view(1, 3, 1, 1)
        self.preload()

    def preload(self):
        try:
            self.next_input, self.next_target = next(self.loader)
        except StopIteration:
            self.next_input = None
            self.next_target = None
            return
        with torch.cuda.stream(self.stream):
            self.next_input = self.next_input.cuda(non_blocking=True)
            self.next_target = self.next_target.cuda(non_blocking=True)
            self.next_input = self.next_input.float()
            self.next_input = self.next_input.sub_(self.mean).div_(self.std)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        input = self.next_input
        target = self.next_target
        if input is not None:
            input.record_stream(torch.cuda.current_stream())
        if target is not None:
            target.record_stream(torch.cuda.current_stream())
        self.preload()
        return input, target


def main():
    torch.manual_seed(1)
    images = torch.randint(0, 256, (40, 3, 12, 12), dtype=torch.uint8)
    targets = torch.randint(0, 4, (40,))
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(images, targets), batch_size=10, pin_memory=True
    )
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    side = torch.cuda.Stream()
    losses = []
    for epoch in range(3):
        prefetcher = data_prefetcher(loader)
        input, target = prefetcher.next()
        while input is not None:
            loss = nn.functional.cross_entropy(model(input), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            input, target = prefetcher.next()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        total = sum(p.detach().abs().sum() for p in model.parameters())
        ready = torch.cuda.Event()
        ready.record(side)
    ready.synchronize()
    torch.cuda.synchronize()
    print(json.dumps({"losses": losses, "total": total.item()}))


if __name__ == "__main__":
    main()
