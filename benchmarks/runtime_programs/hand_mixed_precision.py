"""Mixed precision by hand: a half model, float32 master weights, a static loss scale."""
import json

import torch
import torch.nn as nn


def network_to_half(network):
    return nn.Sequential(*[m.half() if not isinstance(m, nn.BatchNorm1d) else m.float() for m in network])


def prep_param_lists(model):
    model_params = [p for p in model.parameters() if p.requires_grad]
    master_params = [p.clone().float().detach() for p in model_params]
    for p in master_params:
        p.requires_grad = True
    return model_params, master_params


def model_grads_to_master_grads(model_params, master_params):
    for model, master in zip(model_params, master_params):
        if master.grad is None:
            master.grad = torch.empty_like(master)
        master.grad.data.copy_(model.grad.data)


def master_params_to_model_params(model_params, master_params):
    for model, master in zip(model_params, master_params):
        model.data.copy_(master.data)


def has_overflow(params):
    return any(not torch.isfinite(p.grad.float().sum()).item() for p in params)


def main(loss_scale=128.0):
    torch.manual_seed(30)
    model = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 3)).cuda()
    model = network_to_half(model)
    model_params, master_params = prep_param_lists(model)
    optimizer = torch.optim.SGD(master_params, lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    x = torch.randn(32, 12).cuda().half()
    y = torch.randint(3, (32,)).type(torch.cuda.LongTensor)
    losses, skipped = [], 0
    for _ in range(8):
        output = model(x)
        loss = criterion(output.float(), y)
        model.zero_grad()
        (loss * loss_scale).backward()
        if has_overflow(model_params):
            skipped += 1
            continue
        model_grads_to_master_grads(model_params, master_params)
        for param in master_params:
            param.grad.data = param.grad.data / loss_scale
        optimizer.step()
        master_params_to_model_params(model_params, master_params)
        losses.append(loss.item())
    kinds = sorted({p.dtype for p in model.parameters()}, key=str)
    print(json.dumps({"losses": losses, "skipped": skipped, "kinds": [str(k) for k in kinds]}))


if __name__ == "__main__":
    main()
