"""Where device strings and backend names go: the places that give a string its meaning.

Tables only. Positions are those of the public signatures of PyTorch 2.10.
"""

from __future__ import annotations

import re

# Names that PyTorch code gives to devices, as variables, attributes, parameters, keywords and
# dictionary keys: device, map_location, execution_device, DEVICE_TYPE, torch_device, ...
DEVICE_NAME = re.compile(
    r"(?:.*_)?(?:device|devices|dev)(?:_?(?:type|types|name|names|str|string|kind|map))?"
    r"|map_location",
    re.IGNORECASE,
)
BACKEND_NAME = re.compile(r"(?:.*_)?backend(?:_?(?:name|str|string|type))?", re.IGNORECASE)

# Functions whose parameter at this position is a device: dotted name -> position.
DEVICE_ARGUMENT = {
    "torch.device": 0,
    "torch.autocast": 0,
    "torch.amp.autocast": 0,
    "torch.amp.autocast_mode.autocast": 0,
    "torch.amp.GradScaler": 0,
    "torch.amp.grad_scaler.GradScaler": 0,
    "torch.amp.is_autocast_available": 0,
    "torch.autocast_mode.autocast": 0,
    "torch.is_autocast_enabled": 0,
    "torch.set_autocast_enabled": 0,
    "torch.get_autocast_dtype": 0,
    "torch.set_autocast_dtype": 0,
    "torch.Generator": 0,
    "torch.Stream": 0,
    "torch.Event": 0,
    "torch.set_default_device": 0,
    "torch.get_device_module": 0,
    "torch.load": 1,
    "torch.jit.load": 1,
    "torch.distributed.init_device_mesh": 0,
    "torch.distributed.device_mesh.init_device_mesh": 0,
    "torch.distributed.DeviceMesh": 0,
    "torch.distributed.device_mesh.DeviceMesh": 0,
    "torch.distributed.get_default_backend_for_device": 0,
    "torch.accelerator.set_device_index": 0,
    "torch.accelerator.synchronize": 0,
    "torch.accelerator.current_stream": 0,
    "torch.accelerator.device_index": 0,
    "torch.Tensor.to": 1,
    "torch.Tensor.cuda": 1,
    "torch.nn.Module.to": 1,
    "torch.cuda.set_device": 0,
    "torch.cuda.device": 0,
    "torch.cuda.synchronize": 0,
    "torch.cuda.current_stream": 0,
    "torch.cuda.default_stream": 0,
    "torch.cuda.Stream": 0,
    "torch.cuda.get_device_name": 0,
    "torch.cuda.get_device_properties": 0,
    "torch.cuda.get_device_capability": 0,
    "torch.cuda.get_rng_state": 0,
    "torch.cuda.set_rng_state": 1,
    "torch.cuda.mem_get_info": 0,
    "torch.cuda.memory_allocated": 0,
    "torch.cuda.memory_reserved": 0,
    "torch.cuda.memory_stats": 0,
    "torch.cuda.memory_summary": 0,
    "torch.cuda.max_memory_allocated": 0,
    "torch.cuda.max_memory_reserved": 0,
    "torch.cuda.reset_peak_memory_stats": 0,
    "torch.cuda.reset_max_memory_allocated": 0,
    "torch.cuda.utilization": 0,
}
BACKEND_ARGUMENT = {
    "torch.distributed.init_process_group": 0,
    "torch.distributed.distributed_c10d.init_process_group": 0,
    "torch.distributed.new_group": 2,
    "torch.distributed.is_backend_available": 0,
    "torch.distributed.Backend": 0,
}

# Methods of tensors, modules and storages whose first argument is a device.
DEVICE_METHOD = frozenset({"to", "cuda", "npu", "musa", "mlu", "gcu", "xpu", "hpu", "pin_memory"})

# Calls whose value is a device.
DEVICE_RESULT = frozenset(
    {
        "torch.device",
        "torch.get_default_device",
        "torch.accelerator.current_accelerator",
        "torch._utils._get_available_device_type",
        "torch._C._get_accelerator",
    }
)
BACKEND_RESULT = frozenset(
    {"torch.distributed.get_backend", "torch.distributed.distributed_c10d.get_backend"}
)
# String methods that keep a device string one (``str(x.device).split(":")[0]``).
TEXT_METHODS = frozenset(
    {"lower", "strip", "lstrip", "rstrip", "split", "rsplit", "partition", "replace", "upper"}
    | {"removeprefix", "casefold"}
)
# String methods whose argument is a device where the string is one.
TEXT_TESTS = frozenset(
    "startswith endswith find index replace split rsplit partition removeprefix count".split()
)
# Assertions of tests that compare their arguments.
ASSERTIONS = frozenset(
    "assertEqual assertNotEqual assertIn assertNotIn assert_equal assert_in".split()
)
# Look-ups with a default: the key is the first argument of the method, the default follows.
LOOKUPS = frozenset({"get", "pop", "setdefault", "getenv", "getattr"})

# Frameworks and libraries with devices of their own, and parts of the standard library that
# take any text: a string given to them is not a torch device.
FOREIGN = frozenset(
    "paddle mxnet tensorflow tf jax jaxlib flax keras mindspore oneflow chainer theano "
    "mlx cupy cupyx numba pycuda cudf cuml cugraph rmm dask_cuda taichi warp triton tvm "
    "onnx onnxruntime openvino tensorrt pynvml nvtx nvidia cuda cv2 xgboost lightgbm "
    "faiss spacy thinc pyopencl os sys re io json yaml logging warnings pathlib "
    "subprocess shutil shlex pprint platform datetime time collections itertools string "
    "textwrap".split()
)
# Of these, the ones that mark a file as not being PyTorch code unless it also imports torch.
FRAMEWORKS = frozenset(
    "paddle mxnet tensorflow jax flax keras mindspore oneflow chainer theano mlx cupy "
    "numba pycuda cudf taichi warp tvm onnxruntime openvino tensorrt".split()
)
# Methods that take text for people.
SPOKEN = frozenset(
    "print debug info warning warn error exception critical log warning_once info_once "
    "warn_once debug_once print_rank_0 log_rank_0 log_once set_description write fail "
    "skip skipTest xfail add_row add_argument_group".split()
)
# Keywords whose value is text for people, whatever is called.
SPOKEN_KEYWORDS = frozenset("reason help description desc epilog metavar msg message".split())
