"""The first thing to try on a device: create, move, compute, read back. In processes of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping

from flmigrate.runtime import twin
from flmigrate.runtime.checks import AUTOLOAD, Check
from flmigrate.runtime.twin.build import missing_tools

_SMOKE = """
import json, sys
step = "import torch_fl"
def tell(**more):
    print("\\n@flmigrate " + json.dumps({"step": step, **more}), flush=True)
try:
    import torch_fl
    import torch
    step = "find a device"
    if not torch.flagos.is_available():
        raise RuntimeError("torch.flagos.is_available() is False")
    step = "create"; x = torch.ones(4, 4, device="flagos")
    step = "move"; y = torch.arange(16.0).reshape(4, 4).to("flagos")
    step = "compute"; z = x @ y + y
    step = "read back"; got = z.cpu()
    step = "compare"
    want = torch.ones(4, 4) @ torch.arange(16.0).reshape(4, 4) + torch.arange(16.0).reshape(4, 4)
    if not torch.equal(got, want):
        raise RuntimeError("the result differs from the CPU's")
    tell(done=True)
except BaseException as error:
    tell(error=type(error).__name__ + ": " + str(error)[:400])
"""

_TWIN = "from flmigrate.runtime import twin\ntwin.activate()\n"

_OWNER = """
import torch
print("\\n@flmigrate " + torch._C._get_privateuse1_backend_name())
"""

_LATE = """
import torch
import torch_fl
torch.ones(1, device="flagos").cpu()
print("\\n@flmigrate fine")
"""

_TIMEOUT = 300.0  # seconds; the first import on a chip compiles


def smoke_test(versions: Mapping[str, str]) -> Iterator[Check]:
    """Who owns the device key after ``import torch``, and whether the device computes.

    ``versions`` are those of installed distributions. Each script runs in a new process.
    """
    if "torch" not in versions:
        yield Check("smoke test", "info", "not run: torch is missing")
        return
    owner = _run(_OWNER)
    if owner not in ("privateuseone", "flagos"):
        found = owner.removeprefix("!") or "no answer"
        if owner.startswith("!") or not owner:
            yield Check("import torch", "error", found, "torch itself does not start")
            return
        yield Check(
            "device key",
            "error",
            f'"import torch" gives PrivateUse1 to "{found}"',
            "torch_fl cannot register flagos behind it",
            f"export {AUTOLOAD}=0",
        )
    simulated = "torch_fl" not in versions and twin.which() != "real"
    if simulated and (missing := missing_tools()):
        advice = f"the simulated device would need {missing}"
        yield Check("smoke test", "info", "not run: torch_fl is missing", advice)
        return
    answer = _run(_TWIN + _SMOKE if simulated else _SMOKE)
    try:
        told = json.loads(answer)
    except ValueError:
        found = answer.removeprefix("!") or "the process ended without a word"
        yield Check("smoke test", "error", found, "a crash below Python: check driver and versions")
        return
    if told.get("done"):
        where = "the simulated device" if simulated else "torch_fl"
        yield Check("smoke test", "ok", f"create, move, compute, read back, on {where}")
        if simulated:
            return
        late = _run(_LATE)
        if late.startswith("!"):
            advice = "import torch_fl first, in every program"
            found = f"torch before torch_fl fails: {late[1:]}"
            yield Check("import order", "warning", found, advice)
    else:
        advice = _ADVICE.get(told["step"], "the operators of the smoke test are the commonest")
        yield Check("smoke test", "error", f'"{told["step"]}": {told["error"]}', advice)


_ADVICE = {
    "import torch_fl": "versions of torch and torch_fl must fit, and torch_fl is imported first",
    "find a device": "driver, device files and visibility variables decide what is seen",
    "compare": "the chip computes wrongly; report it with versions of driver and toolkit",
}


def _run(script: str) -> str:
    """What a script tells behind its mark; ``!`` and the reason where it does not get there."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"!no answer within {_TIMEOUT:.0f} s"
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("@flmigrate "):
            return line.removeprefix("@flmigrate ")
    last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return f"!{last[0]}"
