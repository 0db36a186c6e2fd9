"""Calls that torch's own samples do not cover: indexing, Python numbers, gradient clipping."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

from flmigrate.runtime.boundary import DEVICE, DeviceTensor, module_to_device, to_device
from flmigrate.runtime.sample import Call, Sample


def _tensor(*shape: int, grad: bool = True) -> Any:
    return to_device(torch.randn(*shape, requires_grad=grad))


def _whole() -> Any:
    return to_device(torch.randint(0, 2, (1,)))


def _set(target: Any, index: Any, value: Any) -> Any:
    target[index] = value
    return target


_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_LOGICAL = ("and_", "or_", "xor")


def by_hand() -> Iterator[Sample]:
    """The calls that torch has no samples of, each made anew when it is traced."""
    for api, call in _HAND.items():
        for prepare in call if isinstance(call, tuple) else (call,):
            yield Sample(api, prepare, by_hand=True)
    for name in _ARITHMETIC:
        yield from _binary(f"torch.Tensor.__{name}__", getattr(operator, name), number=2.0)
        yield from _reflected(name)
        augmented = getattr(operator, f"i{name}")
        yield from _augmented(f"torch.Tensor.__i{name}__", augmented)
    for name in _COMPARISONS:
        yield from _binary(f"torch.Tensor.__{name}__", getattr(operator, name), number=1.0)
    for name in _LOGICAL:
        plain = name.strip("_")
        for api, function in (
            (f"torch.Tensor.__{plain}__", getattr(operator, name)),
            (f"torch.Tensor.__i{plain}__", getattr(operator, f"i{plain}")),
        ):
            yield Sample(api, _calling(function, _whole, _whole), by_hand=True)


def _binary(api: str, function: Any, number: float) -> Iterator[Sample]:
    def tensors() -> Call:
        left, right = _tensor(3, 4), _tensor(3, 4)
        return lambda: function(left, right)

    def numbers() -> Call:
        left = _tensor(3, 4)
        return lambda: function(left, number)

    yield Sample(f"{api}[tensor]", tensors, by_hand=True)
    yield Sample(f"{api}[number]", numbers, by_hand=True)
    yield Sample(api, tensors, by_hand=True)
    yield Sample(api, numbers, by_hand=True)


def _reflected(name: str) -> Iterator[Sample]:
    function = getattr(operator, name)

    def prepare() -> Call:
        right = _tensor(3, 4)
        return lambda: function(2.0, right)

    yield Sample(f"torch.Tensor.__r{name}__", prepare, by_hand=True)
    yield Sample(f"torch.Tensor.__r{name}__[number]", prepare, by_hand=True)


def _augmented(api: str, function: Any) -> Iterator[Sample]:
    def tensors() -> Call:
        left, right = _tensor(3, grad=False), _tensor(3, grad=False)
        return lambda: function(left, right)

    def numbers() -> Call:
        left = _tensor(3, grad=False)
        return lambda: function(left, 2.0)

    yield Sample(f"{api}[tensor]", tensors, by_hand=True)
    yield Sample(f"{api}[number]", numbers, by_hand=True)
    yield Sample(api, tensors, by_hand=True)
    yield Sample(api, numbers, by_hand=True)


def _indexed(index: Callable[[], Any]) -> Callable[[], Call]:
    def prepare() -> Call:
        tensor, at = _tensor(4, 4), index()
        return lambda: tensor[at]

    return prepare


def _assigned(index: Callable[[], Any], value: Callable[[], Any]) -> Callable[[], Call]:
    def prepare() -> Call:
        tensor, at, new = _tensor(4, 4, grad=False), index(), value()
        return lambda: _set(tensor, at, new)

    return prepare


def _calling(function: Callable[..., Any], *made: Callable[[], Any]) -> Callable[[], Call]:
    def prepare() -> Call:
        arguments = [make() for make in made]
        return lambda: function(*arguments)

    return prepare


def _t44() -> Any:
    return _tensor(4, 4)


def _row() -> Any:
    return _tensor(4, grad=False)


def _clip(function: Any, *arguments: Any) -> Callable[[], Call]:
    def prepare() -> Call:
        module = module_to_device(torch.nn.Linear(4, 3))
        for parameter in module.parameters():
            parameter.grad = DeviceTensor(torch.ones(parameter.shape))
        return lambda: function(list(module.parameters()), *arguments)

    return prepare


def _encoder(training: bool) -> Callable[[], Call]:
    def prepare() -> Call:
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).train(training)
        moved = module_to_device(layer)
        value = _tensor(2, 3, 8, grad=training)
        return lambda: moved(value)

    return prepare


def _scaler_step() -> Call:
    grads = [_tensor(3, grad=False)]
    found, inverse = to_device(torch.zeros(1)), to_device(torch.ones(1))
    scale, growth = to_device(torch.ones(1)), to_device(torch.zeros(1, dtype=torch.int32))

    def call() -> None:
        torch._amp_foreach_non_finite_check_and_unscale_(grads, found, inverse)
        torch._amp_update_scale_(scale, growth, found, 2.0, 0.5, 2000)

    return call


def _ints() -> Any:
    return to_device(torch.tensor([0, 2]))


def _bools() -> Any:
    return to_device(torch.tensor([True, False, True, False]))


def _classes() -> Any:
    return to_device(torch.tensor([0, 1, 2, 0]))


def _shares() -> Any:
    return to_device(torch.rand(4, 4, requires_grad=True))


def _shares_too() -> Any:
    return to_device(torch.rand(4, 4))


def _heads() -> Any:
    return _tensor(2, 2, 3, 4)


def _copied() -> Any:
    """What a tensor from a Python list asks for: torch makes it past the trace otherwise."""
    return torch.empty_strided((2,), (1,), device=DEVICE).copy_(torch.ones(2))


_Prepare = Callable[[], Call]
_HAND: dict[str, _Prepare | tuple[_Prepare, ...]] = {
    "torch.Tensor.__getitem__[basic]": (
        _indexed(lambda: 1),
        _indexed(lambda: slice(1, 3)),
        _indexed(lambda: (slice(None), 2)),
    ),
    "torch.Tensor.__getitem__[int]": _indexed(lambda: 1),
    "torch.Tensor.__getitem__[slice]": _indexed(lambda: slice(1, 3)),
    "torch.Tensor.__getitem__[whole]": _indexed(lambda: (Ellipsis, slice(None))),
    "torch.Tensor.__getitem__[none]": _indexed(lambda: (None, slice(1, 3))),
    "torch.Tensor.__getitem__[tensor]": _indexed(_ints),
    "torch.Tensor.__getitem__[list]": _calling(lambda x: (_copied(), x[_ints()]), _t44),
    "torch.Tensor.__getitem__[mask]": _indexed(_bools),
    "torch.Tensor.__setitem__[number]": _assigned(lambda: slice(1, 3), lambda: 0.0),
    "torch.Tensor.__setitem__[basic]": _assigned(lambda: slice(1, 3), lambda: _tensor(2, 4)),
    "torch.Tensor.__setitem__[tensor]": _assigned(_ints, lambda: _tensor(2, 4)),
    "torch.Tensor.__setitem__[tensor,number]": _assigned(_ints, lambda: 0.0),
    "torch.Tensor.__setitem__[mask]": _assigned(_bools, lambda: _tensor(2, 4)),
    "torch.Tensor.__setitem__[mask,number]": _assigned(_bools, lambda: 0.0),
    "torch.Tensor.__neg__": _calling(operator.neg, _t44),
    "torch.Tensor.__abs__": _calling(abs, _t44),
    "torch.Tensor.__invert__": _calling(operator.invert, _bools),
    "torch.Tensor.__matmul__": _calling(operator.matmul, _t44, _t44),
    "torch.Tensor.matmul[batch]": _calling(
        operator.matmul, lambda: _tensor(2, 2, 3, 4), lambda: _tensor(2, 2, 4, 3)
    ),
    # Ways to call that the source shows, and that lead to other operators than others do.
    "torch.nn.functional.cross_entropy[plain]": _calling(F.cross_entropy, _t44, _classes),
    "torch.nn.CrossEntropyLoss[plain]": _calling(F.cross_entropy, _t44, _classes),
    "torch.nn.functional.dropout[plain]": _calling(F.dropout, _t44),
    "torch.nn.Dropout[plain]": _calling(F.dropout, _t44),
    "torch.nn.Linear[plain]": (
        _calling(F.linear, _t44, _t44, lambda: _tensor(4)),
        _calling(F.linear, lambda: _tensor(2, 3, 4), _t44, lambda: _tensor(4)),
    ),
    "torch.nn.Linear[bias=False]": (
        _calling(F.linear, _t44, _t44),
        _calling(F.linear, lambda: _tensor(2, 3, 4), _t44),
    ),
    **{
        f"torch.nn.functional.{name}[plain]": _calling(getattr(F, name), _shares, _shares_too)
        for name in ("binary_cross_entropy_with_logits", "binary_cross_entropy")
    },
    **{
        f"torch.nn.functional.{name}[plain]": _calling(getattr(F, name), _t44, _t44)
        for name in ("smooth_l1_loss", "mse_loss")
    },
    **{
        f"torch.nn.functional.interpolate[{mode}]": _calling(
            functools.partial(F.interpolate, scale_factor=2, mode=mode),
            lambda: _tensor(1, 2, 4, 4),
        )
        for mode in ("nearest", "bilinear", "bicubic", "area")
    },
    "torch.argsort[plain]": _calling(torch.argsort, _row),
    "torch.Tensor.clamp[number]": _calling(lambda x: x.clamp(min=0.0), _t44),
    "torch.Tensor.clamp_[number]": _calling(lambda x: x.clamp_(min=0.0), _row),
    "torch.Tensor.masked_fill[number]": _calling(lambda x: x.masked_fill(_bools(), 0.0), _t44),
    "torch.Tensor.masked_fill_[number]": _calling(lambda x: x.masked_fill_(_bools(), 0.0), _row),
    "torch.nn.AdaptiveAvgPool2d[1]": _calling(
        lambda x: F.adaptive_avg_pool2d(x, 1), lambda: _tensor(2, 3, 4, 4)
    ),
    "torch.nn.functional.adaptive_avg_pool2d[1]": _calling(
        lambda x: F.adaptive_avg_pool2d(x, 1), lambda: _tensor(2, 3, 4, 4)
    ),
    "torch.nn.functional.scaled_dot_product_attention[plain]": _calling(
        F.scaled_dot_product_attention, _heads, _heads, _heads
    ),
    "torch.nn.functional.scaled_dot_product_attention[causal]": _calling(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        *(_heads, _heads, _heads),
    ),
    "torch.nn.functional.scaled_dot_product_attention[mask]": _calling(
        F.scaled_dot_product_attention,
        *(_heads, _heads, _heads, lambda: _tensor(3, 3, grad=False)),
    ),
    **{
        f"torch.Tensor.{name}[{way}]": _calling(operator.methodcaller(name, *arguments), _t44)
        for name in ("sum", "mean", "max", "min", "amax", "amin", "argmax", "argmin", "std", "var")
        for way, arguments in (("plain", ()), ("dim", (0,)))
    },
    **{
        f"torch.Tensor.{name}[{way}]": _calling(operator.methodcaller(name, *arguments), _bools)
        for name in ("all", "any")
        for way, arguments in (("plain", ()), ("dim", (0,)))
    },
    "torch.Tensor.__bool__": _calling(bool, lambda: _tensor(1)),
    "torch.Tensor.__float__": _calling(float, lambda: _tensor(1)),
    "torch.Tensor.__int__": _calling(int, _whole),
    "torch.Tensor.__iter__": _calling(list, _t44),
    "torch.Tensor.__contains__": _calling(lambda x: 1.0 in x, _t44),
    "torch.Tensor.tolist": _calling(lambda x: x.cpu(), lambda: _tensor(2, grad=False)),
    "torch.Tensor.cpu": _calling(lambda x: x.cpu(), _t44),
    "torch.Tensor.type": _calling(lambda x: x.type(torch.float16), _t44),
    "torch.Tensor.to[dtype]": _calling(lambda x: x.to(torch.float16), _t44),
    "torch.Tensor.requires_grad_": _calling(
        lambda x: x.requires_grad_(), lambda: _tensor(3, grad=False)
    ),
    "torch.Tensor.data": _calling(lambda x: x.data, _t44),
    "torch.Tensor.T": _calling(lambda x: x.T, _t44),
    "torch.Tensor.mT": _calling(lambda x: x.mT, _t44),
    "torch.Tensor.H": _calling(lambda x: x.H, _t44),
    "torch.Tensor.mH": _calling(lambda x: x.mH, _t44),
    "torch.Tensor.real": _calling(
        lambda x: x.real, lambda: to_device(torch.randn(3, dtype=torch.complex64))
    ),
    "torch.Tensor.imag": _calling(
        lambda x: x.imag, lambda: to_device(torch.randn(3, dtype=torch.complex64))
    ),
    "torch.Tensor.zero_": _calling(lambda x: x.zero_(), _row),
    "torch.Tensor.share_memory_": _calling(lambda x: x, _row),
    "torch.Tensor.backward": _calling(lambda x: x.sum(), _t44),
    "torch.Tensor.split_with_sizes": _calling(lambda x: x.split_with_sizes([1, 3]), _t44),
    "torch.tensor": _calling(_copied),
    "torch.as_tensor": _calling(_copied),
    "torch.empty": _calling(lambda: torch.empty(3, device=DEVICE)),
    "torch.randperm": _calling(lambda: torch.randperm(5, device=DEVICE)),
    "torch.rand": _calling(lambda: torch.rand(5, device=DEVICE)),
    "torch.normal": _calling(lambda: torch.normal(0.0, 1.0, (3,), device=DEVICE)),
    "torch.where[condition]": _calling(torch.where, _bools),
    "torch.pow[int]": _calling(lambda x: torch.pow(x, 2), _t44),
    "torch.pow[float]": _calling(lambda x: torch.pow(x, 2.0), _t44),
    "torch.nn.utils.clip_grad_norm_": _clip(torch.nn.utils.clip_grad_norm_, 1.0),
    "torch.nn.utils.clip_grad_value_": _clip(torch.nn.utils.clip_grad_value_, 1.0),
    "torch.nn.TransformerEncoderLayer": (_encoder(True), _encoder(False)),
    "torch.autocast": _calling(lambda x: x.to(torch.float16), _t44),  # what it adds: the casts
    "torch.amp.GradScaler": _scaler_step,
    "torch.nn.init.normal_": _calling(torch.nn.init.normal_, _row),
    "torch.nn.init.uniform_": _calling(torch.nn.init.uniform_, _row),
    "torch.nn.init.zeros_": _calling(torch.nn.init.zeros_, _row),
    "torch.nn.init.ones_": _calling(torch.nn.init.ones_, _row),
    "torch.nn.init.constant_": _calling(lambda x: torch.nn.init.constant_(x, 0.5), _row),
    "torch.nn.init.trunc_normal_": _calling(torch.nn.init.trunc_normal_, _row),
    "torch.nn.init.xavier_uniform_": _calling(
        torch.nn.init.xavier_uniform_, lambda: _tensor(4, 4, grad=False)
    ),
    "torch.nn.init.xavier_normal_": _calling(
        torch.nn.init.xavier_normal_, lambda: _tensor(4, 4, grad=False)
    ),
    "torch.nn.init.kaiming_uniform_": _calling(
        torch.nn.init.kaiming_uniform_, lambda: _tensor(4, 4, grad=False)
    ),
    "torch.nn.init.kaiming_normal_": _calling(
        torch.nn.init.kaiming_normal_, lambda: _tensor(4, 4, grad=False)
    ),
    "torch.nn.init.orthogonal_": _calling(
        torch.nn.init.orthogonal_, lambda: _tensor(4, 4, grad=False)
    ),
}
