"""Graph network with message passing by index_add and scatter, and an edge softmax."""
import json

import torch
import torch.nn as nn
import torch.nn.functional as F


def scatter_softmax(scores, index, n):
    peak = torch.full((n,), float("-inf"), device=scores.device)
    peak = peak.scatter_reduce(0, index, scores, reduce="amax", include_self=True)
    scores = (scores - peak[index]).exp()
    total = torch.zeros(n, device=scores.device).scatter_add_(0, index, scores)
    return scores / (total[index] + 1e-12)


class GraphAttention(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.lin = nn.Linear(inputs, outputs, bias=False)
        self.att = nn.Parameter(torch.randn(2 * outputs) * 0.1)

    def forward(self, x, edge_index):
        src, dst = edge_index
        h = self.lin(x)
        scores = F.leaky_relu((torch.cat([h[src], h[dst]], dim=-1) * self.att).sum(-1), 0.2)
        alpha = scatter_softmax(scores, dst, x.size(0))
        out = torch.zeros_like(h)
        out.index_add_(0, dst, h[src] * alpha.unsqueeze(-1))
        return out


class MeanConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.me, self.others = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs)

    def forward(self, x, edge_index):
        src, dst = edge_index
        summed = x.new_zeros(x.shape).scatter_add(0, dst[:, None].expand(-1, x.size(1)), x[src])
        degree = torch.bincount(dst, minlength=x.size(0)).clamp(min=1)
        return self.me(x) + self.others(summed / degree.unsqueeze(1))


class GNN(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.conv1, self.conv2 = GraphAttention(features, hidden), MeanConv(hidden, classes)

    def forward(self, x, edge_index):
        return F.log_softmax(self.conv2(F.elu(self.conv1(x, edge_index)), edge_index), dim=-1)


def main():
    torch.manual_seed(8)
    device = "cuda:0" if torch.cuda.is_available() else "cpu"
    nodes, edges = 50, 200
    x = torch.randn(nodes, 8, device=device)
    edge_index = torch.randint(nodes, (2, edges)).to(device)
    y = torch.randint(4, (nodes,)).to(device)
    train_mask = torch.zeros(nodes, dtype=torch.bool)
    train_mask[:30] = True
    train_mask = train_mask.to(device)
    model = GNN(8, 16, 4).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
    losses = []
    for epoch in range(10):
        model.train()
        optimizer.zero_grad()
        out = model(x, edge_index)
        loss = F.nll_loss(out[train_mask], y[train_mask])
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    model.eval()
    pred = model(x, edge_index).argmax(dim=-1)
    unique, counts = torch.unique(pred, return_counts=True)
    acc = int((pred[~train_mask] == y[~train_mask]).sum())
    print(json.dumps({"losses": losses, "acc": acc, "counts": dict(zip(unique.tolist(), counts.tolist()))}))


if __name__ == "__main__":
    main()
