"""What programs ask about devices. ``{v}`` is a vendor other than the canonical one.

Where a question may be asked: ``ANYWHERE`` needs ``torch`` alone, ``IN_RUN`` also the
parameters of ``run``: a tensor ``x``, a device ``device``, its type ``device_type`` and a text
``target_device``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """A condition, and the vendor whose device is there where it holds: the arm is for it.

    ``vendor`` is empty where the arm may be for any; ``about`` is what is asked, so that a
    program can ask several questions about one thing.
    """

    text: str
    vendor: str = ""
    about: str = "probe"


def _all(vendor: str, about: str, *texts: str) -> tuple[Question, ...]:
    return tuple(Question(text, vendor, about) for text in texts)


ACCELERATOR_ANYWHERE = _all(
    *("cuda", "probe"),
    "torch.cuda.is_available()",
    "torch.cuda.device_count() > 0",
    "torch.cuda.device_count()",
    "torch.cuda.device_count() > 1",
    "0 < torch.cuda.device_count() <= 8",
    "(count := torch.cuda.device_count()) > 1",
    "bool(torch.cuda.is_available())",
    "torch.cuda.is_available() is True",
    'hasattr(torch, "cuda") and torch.cuda.is_available()',
    'getattr(torch, "cuda", None) is not None and torch.cuda.is_available()',
    "any([torch.cuda.is_available()])",
    "(lambda: torch.cuda.is_available())()",
)
ACCELERATOR_IN_RUN = (
    *_all(
        *("cuda", "tensor"),
        "x.is_cuda",
        'x.device.type == "cuda"',
        "x.is_cuda is True",
        'x.device.type == device_type == "cuda"',
        'str(x.device).startswith("cuda")',
    ),
    *_all(
        *("cuda", "device"),
        'device.type == "cuda"',
        '"cuda" == device.type',
        'device.type in ("cuda",)',
        'device_type == "cuda"',
        'device_type in ["cuda", "meta"]',
        'device_type not in ("cpu", "mps")',
        'target_device.startswith("cuda")',
        '"cuda" in target_device',
        'target_device[:4] == "cuda"',
        'target_device.split(":")[0] == "cuda"',
        'str(device).startswith("cuda:")',
        'target_device == "cuda:0"',
        'target_device in ("cuda", "cuda:0")',
        'target_device.startswith(("cuda", "meta"))',
    ),
    *_all("", "device", 'device.type != "cpu"', 'device_type == "cpu"', 'device_type != "cuda"'),
)

OTHER_ANYWHERE = (
    *_all(
        *("{v}", "probe"),
        'hasattr(torch, "{v}") and torch.{v}.is_available()',
        'hasattr(torch, "{v}")',
        'getattr(torch, "{v}", None) is not None',
        'getattr(torch, "{v}", None) and torch.{v}.is_available()',
        'hasattr(torch, "{v}") and torch.{v}.device_count() > 0',
    ),
    *_all("{v}", "package", 'importlib.util.find_spec("torch_{v}") is not None'),
)
# These raise where the vendor's module is missing, as it is on the canonical vendor's machine.
OTHER_UNGUARDED = _all(
    *("{v}", "probe"),
    "torch.{v}.is_available()",
    "torch.{v}.device_count() > 0",
)
OTHER_IN_RUN = (
    *_all(
        *("{v}", "device"),
        'device.type == "{v}"',
        '"{v}" == device.type',
        'device_type == "{v}"',
        'device_type in ("{v}",)',
        'target_device.startswith("{v}")',
        '"{v}" in target_device',
        'target_device[:3] == "{v}"',
        'target_device == "{v}:0"',
    ),
    *_all("{v}", "tensor", 'x.device.type == "{v}"', 'str(x.device).startswith("{v}")'),
    *_all("", "device", 'device.type != "{v}"', 'device_type not in ("{v}", "mps")'),
)
# Questions about the canonical vendor and another one at once.
BOTH_ANYWHERE = _all(
    *("", "probe"),
    'torch.cuda.is_available() or (hasattr(torch, "{v}") and torch.{v}.is_available())',
    'hasattr(torch, "{v}") or torch.cuda.is_available()',
    'torch.cuda.is_available() and not hasattr(torch, "{v}")',
)
ANY_OF = _all(
    *("", "probe"),
    'any([torch.cuda.is_available(), hasattr(torch, "{v}")])',
)
BOTH_UNGUARDED = _all(
    *("", "probe"),
    "torch.cuda.is_available() or torch.{v}.is_available()",
    "torch.{v}.is_available() or torch.cuda.is_available()",
)
BOTH_IN_RUN = (
    *_all(
        *("", "device"),
        'device.type in ("cuda", "{v}")',
        'device.type in ["{v}", "cuda", "cpu"]',
        'device_type in {{"cuda", "{v}"}}',
        'device_type not in ("cuda", "{v}", "cpu")',
        'device_type == "cuda" or device_type == "{v}"',
        'device_type != "cuda" and device_type != "{v}"',
        'target_device.startswith(("cuda", "{v}"))',
        'device.type == "cuda" and not device.type == "{v}"',
        '"cuda" in target_device or "{v}" in target_device',
    ),
)
UNSERVED_ANYWHERE = (
    *_all(
        *("mps", "probe"),
        "torch.backends.mps.is_available()",
        'hasattr(torch.backends, "mps") and torch.backends.mps.is_available()',
    ),
    *_all(
        *("xpu", "probe"),
        'hasattr(torch, "xpu") and torch.xpu.is_available()',
        "torch.xpu.is_available()",
    ),
)
UNSERVED_IN_RUN = (
    *_all("mps", "device", 'device.type == "mps"', 'device_type in ("mps",)'),
    *_all("xpu", "device", 'device_type == "xpu"', 'target_device.startswith("xpu")'),
)
# What is no question about a device: it must neither go nor be asked in another order.
OPTIONS = _all(
    *("", "option"),
    "args.fast",
    "args.use_cuda",
    "not args.no_cuda",
    'ask("a")',
    'ask("b")',
    'ask("c")',
)
# Answered with no in all worlds; see ``fake_torch``.
NVIDIA_ONLY = _all(
    *("", "nvidia"),
    "torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 8",
    "torch.version.cuda is not None",
    "torch.cuda.is_available() and torch.version.hip is None",
)

# Helpers that a program defines itself: (definition, question).
HELPERS: Sequence[tuple[str, Question]] = (
    (
        'def is_{v}_available():\n    return hasattr(torch, "{v}") and torch.{v}.is_available()\n',
        Question("is_{v}_available()", "{v}"),
    ),
    (
        "def _is_{v}():\n"
        "    try:\n"
        "        import torch_{v}\n"
        "    except ImportError:\n"
        "        return False\n"
        "    return torch.{v}.is_available()\n",
        Question("_is_{v}()", "{v}"),
    ),
    (
        'def has_{v}():\n    return importlib.util.find_spec("torch_{v}") is not None\n',
        Question("has_{v}()", "{v}"),
    ),
    (
        "try:\n"
        "    import torch_{v}\n"
        "    HAS_{V} = True\n"
        "except ImportError:\n"
        "    HAS_{V} = False\n",
        Question("HAS_{V}", "{v}"),
    ),
    (
        'IS_{V} = hasattr(torch, "{v}") and torch.{v}.is_available()\n',
        Question("IS_{V}", "{v}"),
    ),
    (
        "def is_cuda_available():\n    return torch.cuda.is_available()\n",
        Question("is_cuda_available()", "cuda"),
    ),
    ("USE_GPU = torch.cuda.is_available()\n", Question("USE_GPU", "cuda")),
    (
        "from accelerate.utils import is_{v}_available\n",
        Question("is_{v}_available()", "{v}"),
    ),
    (
        'class Platform:\n    cuda = torch.cuda.is_available()\n    {v} = hasattr(torch, "{v}")\n',
        Question("Platform.{v}", "{v}"),
    ),
)
