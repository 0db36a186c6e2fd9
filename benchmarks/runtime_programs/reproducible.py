"""Seeds everything, saves and restores random states, forks them, and draws from generators."""
import json
import os
import random

import numpy as np
import torch


def seed_everything(seed: int = 42):
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


def draw(n=3):
    return torch.rand(n, device="cuda").tolist()


seed_everything(123)
first = draw()
state = torch.cuda.get_rng_state()
second = draw()
torch.cuda.set_rng_state(state)
third = draw()

with torch.random.fork_rng(devices=[torch.cuda.current_device()]):
    torch.manual_seed(0)
    inside = draw()
after = draw()

generator = torch.Generator(device="cuda").manual_seed(99)
noise = torch.randn(4, device="cuda", generator=generator)
again = torch.randn(4, device="cuda", generator=generator.manual_seed(99))

seed_everything(123)
repeat = draw()
order = torch.randperm(10, device="cuda").tolist()
layer = torch.nn.Linear(3, 2).cuda()
mask = torch.nn.functional.dropout(torch.ones(20, device="cuda"), 0.5).cpu().numpy()
print(json.dumps({
    "replayed": second == third, "repeated": first == repeat, "noise": torch.equal(noise, again),
    "first": first, "inside": inside, "after": after, "order": order,
    "weights": layer.weight.sum().item(), "kept": int((mask > 0).sum()),
    "seed": torch.cuda.initial_seed() == torch.initial_seed(),
}))
