"""How far a result is from the truth, and whether that is rounding or a fault.

The truth is the same computation in float64 on the CPU. The *noise floor* is the error of the
same computation in the same type on the CPU: what rounding alone does here. The score of a
result is its error divided by the noise floor: about 1 for exact arithmetic in another order,
thousands for products in reduced precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
"""Relative and absolute, by type: the defaults of ``torch.testing.assert_close``."""

ROUNDING = 8.0
"""Up to this score a result outside of its tolerance counts as rounding: the CPU is outside, or
nearly so, as well."""

SUSPECT = 100.0
"""Above this score a result is wrong although it is within its tolerance: small values, such as
gradients, hide any error from an absolute tolerance."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is accepted. ``rtol`` and ``atol`` of ``None`` are those of the result's type."""

    rtol: float | None = None
    atol: float | None = None
    rounding: float = ROUNDING
    suspect: float = SUSPECT


@dataclass(frozen=True, slots=True)
class Score:
    """One result: ``status`` is ``ok``, ``rounding`` or ``off``; ``error`` is the largest
    absolute error, ``score`` the root mean square error by the noise floor's."""

    status: str
    score: float
    error: float
    why: str = ""


def score(
    got: torch.Tensor, same: torch.Tensor, truth: torch.Tensor, limits: Limits | None = None
) -> Score:
    """Judge ``got`` by the CPU's result in the same type and by the one in float64.

    All three are on the CPU and have one shape, or the result is off.
    """
    limits = limits or Limits()
    if got.shape != truth.shape:
        return Score("off", float("inf"), float("inf"), f"shape {_shape(got)}, not {_shape(truth)}")
    if got.dtype != same.dtype:
        return Score("off", float("inf"), float("inf"), f"{got.dtype}, not {same.dtype}")
    if not got.is_floating_point() and not got.is_complex():
        wrong = int((got != same).sum())
        why = f"{wrong} of {got.numel()} values differ" if wrong else ""
        return Score("off" if wrong else "ok", float("inf") if wrong else 1.0, float(wrong), why)
    if got.numel() == 0:
        return Score("ok", 1.0, 0.0)
    exact = truth.to(torch.complex128 if got.is_complex() else torch.float64)
    mine, cpu = got.to(exact.dtype), same.to(exact.dtype)
    special = ~torch.isfinite(cpu) | ~torch.isfinite(exact)
    if not torch.equal(_classes(mine)[special], _classes(cpu)[special]):
        return Score("off", float("inf"), float("inf"), "infinite or not a number elsewhere")
    if bool((~torch.isfinite(mine) & ~special).any()):
        return Score("off", float("inf"), float("inf"), "not finite where the CPU is")
    if bool(special.all()):
        return Score("ok", 1.0, 0.0)
    mine, cpu, exact = mine[~special], cpu[~special], exact[~special]
    error = (mine - exact).abs()
    rtol, atol = TOLERANCES.get(got.dtype, (1e-3, 1e-3))
    rtol = limits.rtol if limits.rtol is not None else rtol
    atol = limits.atol if limits.atol is not None else atol
    within = bool((error <= atol + rtol * exact.abs()).all())
    # Where the CPU happens to be exact, one rounding of the result is the least to allow for.
    least = torch.finfo(got.dtype).eps / 4 * float(_rms(exact))
    floor = max(float(_rms(cpu - exact)), least, torch.finfo(torch.float64).tiny)
    ratio = float(_rms(mine - exact)) / floor
    largest = float(error.max())
    if ratio > limits.suspect or (not within and ratio > limits.rounding):
        return Score("off", ratio, largest)
    return Score("ok" if within else "rounding", ratio, largest)


def _rms(values: torch.Tensor) -> torch.Tensor:
    return values.abs().square().mean().sqrt()


def _classes(values: torch.Tensor) -> torch.Tensor:
    """0 for finite values, and one number each for the others."""
    part = values.real if values.is_complex() else values
    return torch.isnan(part) * 3 + torch.isposinf(part) * 1 + torch.isneginf(part) * 2


def _shape(tensor: torch.Tensor) -> str:
    return "x".join(map(str, tensor.shape)) or "()"
