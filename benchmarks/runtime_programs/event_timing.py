"""Measures a layer with CUDA events and torch.profiler, with warm-up and synchronisation."""
import json

import torch
import torch.nn as nn
from torch.profiler import ProfilerActivity, profile, record_function


def benchmark(fn, warmup=3, iters=10):
    for _ in range(warmup):
        fn()
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    for _ in range(iters):
        fn()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / iters


def main():
    assert torch.cuda.is_available(), "this benchmark needs a GPU"
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).cuda().eval()
    x = torch.randn(32, 64, device="cuda")
    outputs = []
    with torch.no_grad():
        ms = benchmark(lambda: outputs.append(model(x)))
        print(f"{torch.cuda.get_device_name()}: {ms:.3f} ms per iteration")
        activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
        with profile(activities=activities, record_shapes=True) as prof:
            with record_function("model_inference"):
                y = model(x)
        events = {event.key for event in prof.key_averages()}
    print(json.dumps({
        "positive": ms > 0, "calls": len(outputs), "sum": y.sum().item(),
        "profiled": "model_inference" in events and any("linear" in key for key in events),
    }))


if __name__ == "__main__":
    main()
