"""FL105, FL109: device strings; with them FL117 and FL121, which say what moving one means.

A literal is rewritten by the place it flows to (``analysis/flow.py``). One whose shape
alone says device, such as ``"cuda:1"`` or ``f"cuda:{rank}"``, counts as one unless it goes
somewhere that shows the contrary.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flmigrate.analysis.context import Context
from flmigrate.analysis.kinds import Verdict
from flmigrate.analysis.options import option_name
from flmigrate.analysis.scopes import Binding
from flmigrate.findings import Applicability, Expression, Finding, Fix, Severity, Text


def check(context: Context) -> Iterator[Finding]:
    """Findings for every string that is, or may be, a served vendor's device."""
    if context.is_foreign:
        return
    for node, device_type, rest in device_literals(context):
        verdict = context.devices.verdict(node)
        if _is_label(context, node):
            verdict = Verdict.UNKNOWN
        elif verdict is Verdict.UNKNOWN and (
            _is_dispatch_key(context, node)
            or _shape_decides(context, node, rest)
            or (not rest and _is_chosen(context, node, device_type))
        ):
            verdict = Verdict.YES
        if verdict is Verdict.YES:
            if device_type in context.vocabulary.device_types:
                yield _device(context, node, device_type)
            yield from _remarks(context, node, rest)
        elif device_type not in context.vocabulary.device_types:
            continue
        elif verdict is Verdict.UNKNOWN and _may_matter(context, node):
            yield _undecided(context, node, device_type)
    yield from _patched_names(context)
    yield from _looked_up_names(context)
    yield from _quoted_annotations(context)


def device_literals(context: Context) -> Iterator[tuple[ast.expr, str, str]]:
    """Literals that read like a device: node, device type, and what follows the type.

    Those of the target itself are among them, for what is to be said of them.

    For f-strings the rest is what stands before the first replacement field.
    """
    pattern = context.vocabulary.device_text
    parents = context.scopes.parents
    for node in context.scopes.nodes[ast.Constant]:
        if isinstance(node.value, str) and not isinstance(parents.get(node), ast.JoinedStr):
            found = pattern.fullmatch(node.value)
            if found is not None and not isinstance(parents.get(node), ast.Expr):
                yield node, found.group(1), found.group(2) or ""
    for node in context.scopes.nodes[ast.JoinedStr]:
        first = node.values[0] if node.values else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            found = pattern.fullmatch(first.value)
            if found is not None:
                yield node, found.group(1), (found.group(2) or "") + "\0" * (len(node.values) - 1)


def _is_label(context: Context, node: ast.expr) -> bool:
    """A member beside "rocm" or "hip", which are no device types: a list of names."""
    display = context.scopes.parents.get(node)
    if not isinstance(display, ast.List | ast.Tuple | ast.Set):
        return False
    return any(isinstance(e, ast.Constant) and e.value in ("rocm", "hip") for e in display.elts)


def _is_dispatch_key(context: Context, node: ast.expr) -> bool:
    """``{"cuda": torch.cuda.synchronize}``: a key moves with the function it stands for."""
    display = context.scopes.parents.get(node)
    if not isinstance(display, ast.Dict) or node not in display.keys:
        return False
    reference = context.reference_at.get(display.values[display.keys.index(node)])
    entry = reference.entry if reference is not None else None
    return entry is not None and entry.to is not None and entry.status not in ("none", "keep")


def _is_chosen(context: Context, node: ast.expr, device_type: str) -> bool:
    """``if is_npu_available(): return "npu"``: the name of the device that a probe found."""
    value: ast.AST = node
    statement = context.scopes.parents.get(value)
    if isinstance(statement, ast.Tuple) and statement.elts[0] is node:
        value, statement = statement, context.scopes.parents.get(statement)
    if not isinstance(statement, ast.Return | ast.Assign) or "torch" not in context.imported:
        return False
    branch = context.scopes.parents.get(statement)
    if not isinstance(branch, ast.If) or statement not in branch.body:
        return False
    return any(
        isinstance(part, ast.Call) and _probes(context, part, device_type)
        for part in ast.walk(branch.test)
    )


def _probes(context: Context, call: ast.Call, device_type: str) -> bool:
    if context.names.called_name(call) == "is_available":
        path = context.names.resolve(call.func).only
        return path in (f"torch.{device_type}.is_available", _own_probe(context))
    return (
        re.fullmatch(rf"_*is_(?:torch_)?{device_type}_available", context.names.called_name(call))
        is not None
    )


def _own_probe(context: Context) -> str:
    return f"{context.vocabulary.target.namespace}.is_available"


def _shape_decides(context: Context, node: ast.expr, rest: str) -> bool:
    if not rest.startswith(":"):
        return False
    if isinstance(node, ast.JoinedStr):
        return len(rest) == len(":\0")
    parent = context.scopes.parents.get(node)
    if isinstance(parent, ast.Dict):
        return False
    if rest == ":":  # a prefix: to be added to, or to be looked for
        return isinstance(parent, ast.BinOp | ast.Call)
    return not isinstance(parent, ast.Subscript | ast.FormattedValue)


def _may_matter(context: Context, node: ast.expr) -> bool:
    """Whether an undecided literal stands where a device could be meant at all."""
    parent = context.scopes.parents.get(node)
    if isinstance(parent, ast.Call):
        return node in parent.args
    if isinstance(parent, ast.Dict):
        return node in parent.values
    return isinstance(
        parent,
        ast.arguments
        | ast.Compare
        | ast.Assign
        | ast.AnnAssign
        | ast.Return
        | ast.keyword
        | ast.IfExp,
    )


def device_edit(context: Context, node: ast.expr, device_type: str) -> Text:
    """The edit that gives a device literal the target's device type."""
    target = context.vocabulary.target
    span = context.source.span(node)
    if target.device_type is not None:
        return Text(span, device_type, target.device_type)
    return Text(span, device_type, target.device_expression or "", expression=True)


def _device(context: Context, node: ast.expr, device_type: str) -> Finding:
    target = context.vocabulary.target
    new = target.device_type or target.device_expression
    parent = context.scopes.parents.get(node)
    if target.device_type is None and isinstance(parent, ast.MatchValue):
        message = f'the device "{device_type}" in a pattern cannot become an expression'
        return context.finding("FL105", message, node, note=True)
    fix = Fix(f"Use {new}", (device_edit(context, node, device_type),))
    message = f'the device "{device_type}" becomes {new}'
    return context.finding("FL105", message, node, fix=fix)


def _undecided(context: Context, node: ast.expr, device_type: str) -> Finding:
    message = f'"{device_type}" may be a device here; nothing in the project shows it'
    edit = device_edit(context, node, device_type)
    fix = Fix("Take it for a device", (edit,), Applicability.UNSAFE)
    handed_on = isinstance(context.scopes.parents.get(node), ast.Call | ast.keyword | ast.arguments)
    severity = Severity.WARNING if handed_on else Severity.INFO
    return context.finding("FL109", message, node, severity=severity, fix=fix)


def _remarks(context: Context, node: ast.expr, rest: str) -> Iterator[Finding]:
    keyword = context.scopes.parents.get(node)
    if rest[1:].isdigit() and int(rest[1:]) > 0:
        message = f"device index {rest[1:]} is fixed in the source; it stays the same"
        yield context.finding("FL121", message, node, severity=Severity.INFO)
    if isinstance(keyword, ast.List | ast.Tuple | ast.Set):
        keyword = context.scopes.parents.get(keyword)
    if isinstance(keyword, ast.keyword) and keyword.arg in ("default", "choices"):
        call = context.scopes.parents.get(keyword)
        option = option_name(call) if isinstance(call, ast.Call) else None
        if option is not None:
            message = (
                f'the values of the command-line option "{option}" are a contract: '
                "scripts that pass a vendor's device must be changed too"
            )
            yield context.finding("FL117", message, node, severity=Severity.INFO)
    yield from _compared_with_device(context, node)


def _compared_with_device(context: Context, node: ast.expr) -> Iterator[Finding]:
    compare = context.scopes.parents.get(node)
    if not isinstance(compare, ast.Compare) or not isinstance(compare.ops[0], ast.Eq | ast.NotEq):
        return
    other = compare.comparators[0] if compare.left is node else compare.left
    is_device = isinstance(other, ast.Attribute) and other.attr == "device"
    if is_device and isinstance(other, ast.Attribute):
        is_device = not context.names.is_self(other.value) and not _is_options(other.value)
    if isinstance(other, ast.Name):
        owner = context.scopes.binder(other)
        bindings = owner.bindings[other.id] if owner is not None else []
        is_device = any(_may_be_device(context, binding) for binding in bindings)
    if is_device:
        message = "a torch.device never equals a string; compare its .type"
        yield context.finding("FL122", message, compare, severity=Severity.INFO)


def _may_be_device(context: Context, binding: Binding) -> bool:
    """A ``torch.device`` by annotation, or a parameter of which nothing says otherwise."""
    if binding.annotation is not None:
        return context.names.annotation_path(binding.annotation) == "torch.device"
    if binding.kind != "param":
        return False
    function = context.names.enclosing(binding.node, ast.FunctionDef, ast.AsyncFunctionDef)
    defaults = function.args.defaults if isinstance(function, ast.FunctionDef) else []
    return not any(isinstance(default, ast.Constant) and default.value for default in defaults)


def _is_options(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("args", "opt", "opts", "config", "cfg")


_PATCHERS = frozenset({"unittest.mock.patch", "mock.patch", "pytest.MonkeyPatch.setattr"})


def _patched_names(context: Context) -> Iterator[Finding]:
    """``mock.patch("torch.cuda.device_count")`` must follow the code under test."""
    for node in context.scopes.nodes[ast.Constant]:
        if not isinstance(node.value, str) or not node.value.startswith("torch"):
            continue
        if not context.vocabulary.in_namespace(node.value):
            continue
        call = context.scopes.parents.get(node)
        if not isinstance(call, ast.Call) or call.args[:1] != [node]:
            continue
        function = context.names.resolve(call.func).only
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if function not in _PATCHERS and name not in ("patch", "setattr", "delattr"):
            continue
        entry = context.vocabulary.target.lookup(context.vocabulary.canonical(node.value))
        if entry is None or not entry.to or entry.status == "keep":
            message = f"{node.value} is patched by name and has no counterpart"
            yield context.finding("FL103", message, node, note=True)
            continue
        edit = Text(context.source.span(node), node.value, entry.to)
        fix = Fix(f"Patch {entry.to}", (edit,))
        yield context.finding("FL101", f"{node.value} is patched by name", node, fix=fix)


_DOTTED = r"\btorch(?:\.\w+)+"


def _quoted_annotations(context: Context) -> Iterator[Finding]:
    """``stream: "torch.cuda.Stream"``: an annotation that is not evaluated yet."""
    for node in context.scopes.nodes[ast.Constant]:
        text = node.value
        if not isinstance(text, str) or "torch." not in text or not _is_annotation(context, node):
            continue
        new, code = text, "FL101"
        for path in set(re.findall(_DOTTED, text)):
            looked_up = context.vocabulary.lookup(path)
            if looked_up is None or looked_up[1] != path or not looked_up[0].to:
                continue
            code = "FL102" if looked_up[0].status == "partial" else code
            new = re.sub(rf"\b{re.escape(path)}\b", looked_up[0].to, new)
        if new != text:
            fix = Fix(f'Annotate "{new}"', (Text(context.source.span(node), text, new),))
            yield context.finding(code, f'the annotation "{text}"', node, fix=fix)


def _is_annotation(context: Context, node: ast.expr) -> bool:
    current: ast.AST = node
    parent = context.scopes.parents.get(current)
    while isinstance(parent, ast.Subscript | ast.BinOp | ast.Tuple):
        current, parent = parent, context.scopes.parents.get(parent)
    if isinstance(parent, ast.arg):
        return True
    if isinstance(parent, ast.AnnAssign):
        return parent.annotation is current
    is_function = isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef)
    return is_function and parent.returns is current  # type: ignore[union-attr]


def _looked_up_names(context: Context) -> Iterator[Finding]:
    """``getattr(torch, "cuda")`` and ``hasattr(torch, "npu")`` name the module by a string."""
    target = context.vocabulary.target
    for call in context.scopes.nodes[ast.Call]:
        if len(call.args) < 2 or not isinstance(call.args[1], ast.Constant):
            continue
        if context.names.called_name(call) not in ("getattr", "hasattr"):
            continue
        function = context.names.resolve(call.func).only
        if function not in ("builtins.getattr", "builtins.hasattr"):
            continue
        name = call.args[1].value
        target_attribute = target.attribute
        if name in context.vocabulary.attributes and target_attribute:
            edit = Text(context.source.span(call.args[1]), name, target_attribute)
            fix = Fix(f"Ask for {target_attribute}", (edit,))
            yield context.finding("FL106", f"{name} is looked up by its name", call, fix=fix)
            continue
        base = context.names.resolve(call.args[0])
        if not isinstance(name, str) or base.only != "torch":
            continue
        if not context.vocabulary.in_namespace(f"torch.{name}") or "." in name:
            continue
        module, _, attribute = target.namespace.rpartition(".")
        if module == "torch" and base.certain:
            edit = Text(context.source.span(call.args[1]), name, attribute)
            fix = Fix(f"Look up {attribute}", (edit,))
        elif function == "builtins.getattr" and len(call.args) == 2 and base.certain:
            expression = Expression(context.source.span(call), target.namespace)
            fix = Fix(f"Use {target.namespace}", (expression,))
        else:
            message = f"torch.{name} is looked up by its name"
            yield context.finding("FL110", message, call, note=True)
            continue
        message = f"torch.{name} is looked up by its name"
        yield context.finding("FL110", message, call, fix=fix)
