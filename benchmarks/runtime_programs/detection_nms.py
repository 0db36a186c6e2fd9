"""Anchors, box regression and non-maximum suppression written with tensors only."""
import json

import torch
import torch.nn as nn
import torch.nn.functional as F


def box_iou(a, b):
    area_a = (a[:, 2] - a[:, 0]).clamp(min=0) * (a[:, 3] - a[:, 1]).clamp(min=0)
    area_b = (b[:, 2] - b[:, 0]).clamp(min=0) * (b[:, 3] - b[:, 1]).clamp(min=0)
    lt = torch.max(a[:, None, :2], b[None, :, :2])
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    return inter / (area_a[:, None] + area_b[None] - inter + 1e-9)


def nms(boxes, scores, threshold):
    order = scores.sort(descending=True, stable=True)[1]
    keep = torch.zeros(len(boxes), dtype=torch.bool, device=boxes.device)
    while order.numel() > 0:
        i = order[0]
        keep[i] = True
        if order.numel() == 1:
            break
        iou = box_iou(boxes[i].unsqueeze(0), boxes[order[1:]])[0]
        order = order[1:][iou <= threshold]
    return keep.nonzero().squeeze(1)


def make_anchors(size, stride, device):
    shifts = (torch.arange(size, device=device) + 0.5) * stride
    y, x = torch.meshgrid(shifts, shifts, indexing="ij")
    centers = torch.stack((x, y), -1).reshape(-1, 2)
    scales = torch.tensor([6.0, 12.0], device=device)
    half = scales[None, :, None].expand(len(centers), 2, 2) / 2
    return torch.cat((centers[:, None] - half, centers[:, None] + half), -1).reshape(-1, 4)


class Detector(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.SiLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.SiLU()
        )
        self.cls = nn.Conv2d(16, 2 * classes, 1)
        self.reg = nn.Conv2d(16, 2 * 4, 1)
        self.classes = classes

    def forward(self, x):
        f = self.body(x)
        n = x.shape[0]
        cls = self.cls(f).permute(0, 2, 3, 1).reshape(n, -1, self.classes)
        reg = self.reg(f).permute(0, 2, 3, 1).reshape(n, -1, 4)
        return cls, reg


def main():
    torch.manual_seed(2)
    model = Detector().cuda()
    anchors = make_anchors(8, 4, torch.device("cuda"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    image = torch.randn(2, 3, 32, 32, device="cuda")
    gt = torch.cuda.FloatTensor([[4, 4, 16, 16], [14, 10, 30, 28]])
    gt_class = torch.tensor([0, 2]).cuda()
    losses = []
    for _ in range(10):
        cls, reg = model(image)
        best, index = box_iou(anchors, gt).max(1)
        positive = best > 0.25
        target = torch.zeros_like(cls)
        target[:, positive, gt_class[index[positive]]] = 1
        wanted = gt[index[positive]] - anchors[positive]
        loss = F.binary_cross_entropy_with_logits(cls, target, reduction="sum") / positive.sum()
        loss = loss + F.smooth_l1_loss(reg[:, positive], wanted.expand(2, -1, -1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    with torch.no_grad():
        cls, reg = model(image)
        scores, labels = cls[0].sigmoid().max(-1)
        boxes = (anchors + reg[0]).clamp(0, 32)
        kept = nms(boxes, scores, 0.5)[:5]
    print(json.dumps({"losses": losses, "kept": kept.cpu().numpy().tolist(), "labels": labels[kept].tolist()}))


if __name__ == "__main__":
    main()
