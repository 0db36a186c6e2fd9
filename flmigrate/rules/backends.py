"""FL108: process-group backends, ``init_process_group("nccl")`` and what is compared with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.analysis.kinds import Verdict
from flmigrate.analysis.options import option_name
from flmigrate.findings import Finding, Fix, Severity, Text

_GROUPS = frozenset(
    {
        "torch.distributed.init_process_group",
        "torch.distributed.distributed_c10d.init_process_group",
    }
)
_REPLACES = 'the group replaces the whole composite: CPU tensors need new_group(backend="gloo")'
_COMPOSITE = r"\w+:\w+(?:,\w+:\w+)*"


def check(context: Context) -> Iterator[Finding]:
    """Findings for backend names, and for groups whose backend comes from a configuration."""
    target = context.vocabulary.target
    if context.is_foreign or (target.backend is None and target.backend_expression is None):
        return
    yield from _options(context)
    ours = context.vocabulary.backends
    for node in context.scopes.nodes[ast.Constant]:
        text = node.value
        if not isinstance(text, str) or isinstance(context.scopes.parents.get(node), ast.JoinedStr):
            continue
        if text in ours:
            if not _belongs_elsewhere(context, node, text):
                yield from _single(context, node, text)
        elif re.fullmatch(_COMPOSITE, text) and any(f":{backend}" in text for backend in ours):
            yield from _composite(context, node, text)
        elif re.fullmatch(_COMPOSITE, text) and "," in text:
            if f":{target.backend}" in text:
                yield context.finding("FL108", _REPLACES, node, note=True)
            else:
                yield from _foreign_leg(context, node, text)
    for call in context.scopes.nodes[ast.Call]:
        if context.names.called_name(call) != "init_process_group":
            continue
        if context.names.resolve(call.func).only in _GROUPS:
            yield from _configured(context, call)


def _belongs_elsewhere(context: Context, node: ast.expr, text: str) -> bool:
    """Whether a backend's name, which two vendors share, means that of an unserved one.

    ``"hccl"`` is Huawei's library and Habana's: the test or key next to it tells which.
    """
    vocabulary = context.vocabulary
    rivals = [
        v
        for v in vocabulary.vendors.values()
        if text in v.backends and v.name not in vocabulary.target.serves
    ]
    if not rivals:
        return False
    words = {word for v in rivals for word in (*v.device_types, *v.plugins)}
    parent = context.scopes.parents.get(node)
    if isinstance(parent, ast.Dict) and node in parent.values:
        key = parent.keys[parent.values.index(node)]
        return isinstance(key, ast.Constant) and key.value in words
    current: ast.AST = node
    while parent is not None:
        if isinstance(parent, ast.If) and current in parent.body:
            if any(word in context.source.segment(parent.test) for word in words):
                return True
        current, parent = parent, context.scopes.parents.get(parent)
    return any(root in words for root in context.imported)


def _edit(context: Context, node: ast.expr, old: str) -> Text:
    target = context.vocabulary.target
    span = context.source.span(node)
    if target.backend is not None:
        return Text(span, old, target.backend)
    return Text(span, old, target.backend_expression or "", expression=True)


def _single(context: Context, node: ast.Constant, text: str) -> Iterator[Finding]:
    verdict = context.backends.verdict(node)
    new = context.vocabulary.target.backend or context.vocabulary.target.backend_expression
    if verdict is Verdict.YES:
        fix = Fix(f"Use {new}", (_edit(context, node, text),))
        yield context.finding("FL108", f'the backend "{text}" becomes {new}', node, fix=fix)
        compare = context.scopes.parents.get(node)
        if isinstance(compare, ast.Compare):
            message = (
                'get_backend() may return a composite such as "cpu:gloo,...": '
                "an equality test misses it"
            )
            yield context.finding("FL108", message, compare, severity=Severity.INFO)
    elif verdict is Verdict.UNKNOWN:
        message = f'"{text}" may name a process-group backend here; nothing shows it'
        yield context.finding("FL109", message, node, severity=Severity.INFO)


def _composite(context: Context, node: ast.Constant, text: str) -> Iterator[Finding]:
    target = context.vocabulary.target
    if context.backends.verdict(node) is not Verdict.YES:
        return
    if target.backend is None or target.device_type is None:
        message = f'the composite backend "{text}" has to be put together by hand'
        yield context.finding("FL108", message, node, note=True)
        return
    legs = []
    for leg in text.split(","):
        device, _, backend = leg.partition(":")
        ours = backend in context.vocabulary.backends
        legs.append(f"{target.device_type}:{target.backend}" if ours else f"{device}:{backend}")
    new = ",".join(dict.fromkeys(legs))
    fix = Fix(f'Use "{new}"', (Text(context.source.span(node), text, new),))
    yield context.finding("FL108", f'"{text}" becomes "{new}"', node, fix=fix)


def _foreign_leg(context: Context, node: ast.Constant, text: str) -> Iterator[Finding]:
    """``"cpu:gloo,cuda:mpi"``: no table says which library serves the target's tensors."""
    served = context.vocabulary.device_types
    legs = [leg for leg in text.split(",") if leg.partition(":")[0] in served]
    if legs and context.backends.verdict(node) is Verdict.YES:
        message = f'"{legs[0]}" has no known counterpart on the target'
        yield context.finding("FL108", message, node, note=True)


def _configured(context: Context, call: ast.Call) -> Iterator[Finding]:
    backend = next((k.value for k in call.keywords if k.arg == "backend"), None)
    if backend is None and call.args:
        backend = call.args[0]
    new = context.vocabulary.target.backend or context.vocabulary.target.backend_expression
    if backend is None:
        if not any(keyword.arg is None for keyword in call.keywords):
            message = f"no backend is given, and none is found for the device: pass {new}"
            yield context.finding("FL108", message, call.func, note=True)
    elif isinstance(backend, ast.Attribute | ast.Subscript) and not _is_declared(context, backend):
        message = f"the backend comes from a configuration: it has to say {new}"
        yield context.finding("FL108", message, backend, note=True)


def _is_declared(context: Context, backend: ast.expr) -> bool:
    """Whether the option that holds the backend is declared, and so migrated, in this file."""
    name = backend.attr if isinstance(backend, ast.Attribute) else ""
    return any(option_name(call) == name for call in context.scopes.nodes[ast.Call] if name)


def _options(context: Context) -> Iterator[Finding]:
    """Command-line options that name backends: their values are a contract with scripts."""
    known = {*context.vocabulary.backends, context.vocabulary.target.backend}
    for call in context.scopes.nodes[ast.Call]:
        option = option_name(call)
        if option is None or not context.backends.hinted(option):
            continue
        for keyword in call.keywords:
            values = [p.value for p in ast.walk(keyword) if isinstance(p, ast.Constant)]
            if keyword.arg in ("default", "choices") and known.intersection(values):
                message = f'the values of the command-line option "{option}" are a contract'
                yield context.finding("FL117", message, keyword, severity=Severity.INFO)
