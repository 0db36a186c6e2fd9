"""Own autograd functions, double backward, hooks, and torch.func on the device."""
import json

import torch
from torch.autograd import Function
from torch.autograd.gradcheck import gradcheck

assert torch.cuda.is_available() or True
device = "cuda"


class StraightThrough(Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x, levels):
        ctx.save_for_backward(x)
        return torch.round(x * levels) / levels

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1).to(grad.dtype), None


class Swish(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad):
        x, s = ctx.saved_tensors
        return grad * (s + x * s * (1 - s))


torch.manual_seed(40)
weight = torch.randn(6, 6, device=device, requires_grad=True)
bias = torch.zeros(6, device=device, requires_grad=True)
optimizer = torch.optim.LBFGS([weight, bias], lr=0.5, max_iter=4)
x, y = torch.randn(10, 6, device=device), torch.rand(10, 6, device=device)
seen = []
weight.register_hook(lambda grad: seen.append(grad.norm().item()))


def closure():
    optimizer.zero_grad()
    out = StraightThrough.apply(Swish.apply(x @ weight + bias), 16)
    loss = ((out - y) ** 2).mean() + 1e-2 * weight.pow(2).mean()
    loss.backward()
    return loss


losses = [optimizer.step(closure).item() for _ in range(3)]

v = torch.randn(5, device=device, dtype=torch.double, requires_grad=True)
ok = gradcheck(Swish.apply, (v,))
(g,) = torch.autograd.grad((v**3).sum(), v, create_graph=True)
(h,) = torch.autograd.grad(g.sum(), v)
jacobian = torch.func.jacrev(lambda t: (t**2).cumsum(0))(v.detach())
batched = torch.func.vmap(lambda row: row.dot(bias.detach() + 1))(x)
print(json.dumps({
    "losses": losses, "hooks": len(seen), "norm": seen[-1], "gradcheck": ok, "hessian": h.sum().item(),
    "jacobian": jacobian.sum().item(), "batched": batched.sum().item(),
}))
