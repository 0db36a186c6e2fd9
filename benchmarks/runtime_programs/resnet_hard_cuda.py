"""Residual network written for a GPU only, with an adjusted learning rate as in many repositories."""
import json
import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")

import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
import torch.nn.functional as F

cudnn.benchmark = True
torch.manual_seed(42)
torch.cuda.manual_seed_all(42)


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.layers = nn.Sequential(BasicBlock(16, 16), BasicBlock(16, 32, 2), BasicBlock(32, 64, 2))
        self.linear = nn.Linear(64, num_classes)

    def forward(self, x):
        out = self.layers(self.stem(x))
        return self.linear(F.adaptive_avg_pool2d(out, 1).flatten(1))


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def accuracy(output, target, topk=(1, 5)):
    _, pred = output.topk(max(topk), 1, True, True)
    correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
    return [correct[:k].reshape(-1).float().sum(0).item() for k in topk]


def main():
    model = ResNet().cuda()
    criterion = nn.CrossEntropyLoss().cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
    images = torch.randn(32, 3, 24, 24)
    targets = torch.arange(32) % 10
    meter, top = AverageMeter(), None
    for epoch in range(3):
        for i in range(0, 32, 16):
            input_var = images[i:i + 16].cuda(non_blocking=True)
            target = targets[i:i + 16].cuda(non_blocking=True)
            output = model(input_var)
            loss = criterion(output, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.update(loss.item(), input_var.size(0))
            top = accuracy(output.data, target)
        scheduler.step()
    torch.cuda.synchronize()
    print(json.dumps({"loss": meter.avg, "top": top}))


if __name__ == "__main__":
    main()
