"""FL106, FL118, FL119: ``x.cuda()`` and ``x.is_cuda``.

``.cuda()`` means "the current device" and becomes ``.to("flagos")``; user classes that
override ``.to`` are served too. A device argument keeps its meaning through the method that
Torch-FL generates with the same signature: ``.cuda(rank)`` becomes ``.flagos(rank)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flmigrate.analysis import places
from flmigrate.analysis.context import Context
from flmigrate.analysis.names import LOCAL
from flmigrate.findings import Arguments, Edit, Expression, Finding, Fix, Rename, Severity, Span


def check(context: Context) -> Iterator[Finding]:
    """Findings for device methods and attributes, and for classes that define their own."""
    if context.is_foreign:
        return
    methods, attributes = context.vocabulary.methods, context.vocabulary.attributes
    for node in context.scopes.nodes[ast.Attribute]:
        if node.attr in methods:
            call = context.is_called(node)
            if call is not None and not _belongs_to_someone(context, node):
                yield _move(context, node, call)
            elif call is None:
                yield from _unbound(context, node)
        elif node.attr in attributes and isinstance(node.ctx, ast.Load):
            if context.is_called(node) is None and not _belongs_to_someone(context, node):
                yield _question(context, node)
        elif node.attr in context.vocabulary.target.attributes:
            yield from _profiler(context, node)
    yield from _own_methods(context)


def _belongs_to_someone(context: Context, node: ast.Attribute) -> bool:
    """Whether the attribute is not a tensor's: of a module, or of a class that defines it."""
    receiver = node.value
    origins = context.names.resolve(receiver)
    for path in origins.paths:
        if not path.startswith(LOCAL) and not path.startswith("torch."):
            root = path.partition(".")[0]
            if root in places.FOREIGN or root == "torch" or _is_module(context, receiver):
                return True
    path = context.names.class_of(receiver)
    if path.startswith(LOCAL):
        owner = context.devices.slots.definition(path.removeprefix(LOCAL))
        if isinstance(owner, ast.ClassDef) and _defines(owner, node.attr):
            return True
        if isinstance(owner, ast.ClassDef) and context.names.is_self(receiver):
            scope = context.scopes.scope_of[owner]
            return node.attr in scope.bindings or _assigned(context, owner, node.attr)
    elif path:
        return context.ask("method", path, node.attr)
    return False


def _is_module(context: Context, receiver: ast.expr) -> bool:
    """Whether a receiver is the very thing an import binds (``numba`` of ``numba.cuda()``)."""
    root = receiver
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    owner = context.scopes.binder(root)
    if owner is None:
        return False
    bindings = owner.bindings[root.id]
    # An object imported from the project (``from .model import net``) is a value; a module
    # is what a plain import binds.
    return any(
        b.kind == "import" and isinstance(context.scopes.parents.get(b.node), ast.Import)
        for b in bindings
    )


def _defines(owner: ast.ClassDef, name: str) -> bool:
    return any(
        isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef) and s.name == name for s in owner.body
    )


def _assigned(context: Context, owner: ast.ClassDef, name: str) -> bool:
    return any(
        attribute.attr == name
        and isinstance(attribute.ctx, ast.Store)
        and context.names.is_self(attribute.value)
        and context.names.enclosing_class(attribute) is owner
        for attribute in context.scopes.nodes[ast.Attribute]
    )


def _move(context: Context, node: ast.Attribute, call: ast.Call) -> Finding:
    target = context.vocabulary.target
    edits = _move_edits(context, node, call)
    message = f".{node.attr}() moves to the device of one vendor"
    if edits is None:
        return context.finding("FL106", message, node_end(context, node), note=True)
    renamed = {edit.new for edit in edits if isinstance(edit, Rename)}
    new = f".{target.method}(...)" if target.method in renamed else f".to({target.move})"
    statement = context.scopes.parents.get(call)
    if isinstance(statement, ast.Expr) and _looks_like_tensor(context, node.value):
        message += "; the result is not used, and only a module moves in place"
    fix = Fix(f"Use {new}", tuple(edits))
    return context.finding("FL106", message, node_end(context, node), fix=fix)


def node_end(context: Context, node: ast.Attribute) -> Span:
    """The span of an attribute's own name, so that a long chain is reported where it matters."""
    end = context.source.end(node)
    return Span(end - len(node.attr), end)


def _move_edits(context: Context, node: ast.Attribute, call: ast.Call) -> list[Edit] | None:
    target = context.vocabulary.target
    name, span = node_end(context, node), context.source.span(call)
    position, argument = _device_argument(call)
    if _is_storage(context, node.value):
        # ``to`` of a storage takes keywords only (torch/storage.py), the method is generated.
        return [Rename(name, target.method)] if target.method else None
    if argument is None:
        hidden = any(keyword.arg is None for keyword in call.keywords)
        if hidden or any(isinstance(a, ast.Starred) for a in call.args):
            return [Rename(name, target.method)] if target.method else None
        if call.args:
            return None
        return [Rename(name, "to"), Arguments(span, first=target.move)]
    if isinstance(argument, ast.Constant):
        if argument.value is None:
            return [Rename(name, "to"), Arguments(span, values=((position, target.move),))]
        if isinstance(argument.value, int) and not isinstance(argument.value, bool):
            indexed = _indexed(context, argument.value)
            if indexed is not None:
                return [Rename(name, "to"), Arguments(span, values=((position, indexed),))]
        if isinstance(argument.value, str):
            return [Rename(name, "to")]
    if target.method:
        return [Rename(name, target.method)]
    if position == 0 and context.devices.is_one(argument):
        return [Rename(name, "to")]
    kind = target.device_type or target.device_expression
    wrapped = (
        f'torch.device("{kind}", __0__)' if target.device_type else f"torch.device({kind}, __0__)"
    )
    hole = context.source.span(argument)
    return [Rename(name, "to"), Expression(hole, wrapped, (hole,))]


def _is_storage(context: Context, receiver: ast.expr) -> bool:
    """``x.untyped_storage()``, or the first parameter of a ``map_location`` function."""
    if isinstance(receiver, ast.Call):
        return context.names.called_name(receiver) in _STORAGES
    owner = context.scopes.binder(receiver) if isinstance(receiver, ast.Name) else None
    if owner is None or not isinstance(owner.node, ast.Lambda):
        return False
    taker = context.scopes.parents.get(owner.node)
    if isinstance(taker, ast.keyword):
        return taker.arg == "map_location"
    return isinstance(taker, ast.Call) and context.names.called_name(taker) == "load"


_STORAGES = frozenset({"storage", "untyped_storage", "_typed_storage", "typed_storage"})


def _device_argument(call: ast.Call) -> tuple[int, ast.expr | None]:
    if call.args and not isinstance(call.args[0], ast.Starred):
        return 0, call.args[0]
    for position, keyword in enumerate(call.keywords, len(call.args)):
        if keyword.arg == "device":
            return position, keyword.value
    return -1, None


def _indexed(context: Context, index: int) -> str | None:
    target = context.vocabulary.target
    if target.device_type is not None:
        quote = "'" if "'" in target.move else '"'
        return f"{quote}{target.device_type}:{index}{quote}"
    return f"torch.device({target.device_expression}, {index})"


def _unbound(context: Context, node: ast.Attribute) -> Iterator[Finding]:
    """``torch.Tensor.cuda`` handed on as a function."""
    path = context.names.resolve(node.value).only
    if path not in ("torch.Tensor", "torch.nn.Module", "torch.nn.modules.module.Module"):
        return
    method = context.vocabulary.target.method
    fix = Fix(f"Use .{method}", (Rename(node_end(context, node), method),)) if method else None
    yield context.finding("FL106", f"{path}.{node.attr} as a function", node, fix=fix)


def _question(context: Context, node: ast.Attribute) -> Finding:
    target = context.vocabulary.target
    message = f".{node.attr} asks for one vendor's device"
    if target.attribute:
        fix = Fix(f"Use .{target.attribute}", (Rename(node_end(context, node), target.attribute),))
        return context.finding("FL106", message, node_end(context, node), fix=fix)
    span, hole = context.source.span(node), context.source.span(node.value)
    test = target.test or ""
    parent = context.scopes.parents.get(node)
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not) and " == " in test:
        span = context.source.span(parent)
        test = test.replace(" == ", " != ", 1)
    fix = Fix(f"Use {test}", (Expression(span, test, (hole,)),))
    return context.finding("FL106", message, node_end(context, node), fix=fix)


def _profiler(context: Context, node: ast.Attribute) -> Iterator[Finding]:
    entry = context.vocabulary.target.attributes[node.attr]
    if not entry.to or context.names.is_self(node.value) or isinstance(node.ctx, ast.Store):
        return
    classes = (context.scopes.scope_of[owner] for owner in context.scopes.nodes[ast.ClassDef])
    if any(node.attr in scope.bindings for scope in classes):
        return  # a record of the file has a field of that name
    fix = Fix(f"Use .{entry.to}", (Rename(node_end(context, node), entry.to),))
    message = f".{node.attr} of profiler averages becomes .{entry.to}"
    yield context.finding("FL101", message, node_end(context, node), fix=fix)


_MODULE_NAMES = ("model", "net", "module", "self", "encoder", "decoder", "generator", "critic")


def _looks_like_tensor(context: Context, node: ast.expr) -> bool:
    if not isinstance(node, ast.Name):
        return False
    owner = context.scopes.binder(node)
    if owner is None or any(word in node.id.lower() for word in _MODULE_NAMES):
        return False
    return any(binding.kind == "param" for binding in owner.bindings[node.id])


def _own_methods(context: Context) -> Iterator[Finding]:
    methods = context.vocabulary.methods
    for node in context.scopes.nodes[ast.FunctionDef]:
        if node.name in methods and isinstance(context.scopes.parents.get(node), ast.ClassDef):
            owner = context.names.qualified_name(node).rpartition(".")[0]
            message = (
                f"{owner} defines {node.name}() itself: the name and the calls to it stay, "
                "only the body moves"
            )
            start = context.source.start(node)
            span = Span(start, start + len(f"def {node.name}"))
            yield context.finding("FL118", message, span, severity=Severity.INFO)
    for call in context.scopes.nodes[ast.Call]:
        statement = context.scopes.parents.get(call)
        if not isinstance(statement, ast.Expr) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr in (*methods, "to") and _looks_like_tensor(context, call.func.value):
            if call.func.attr == "to" and not _moves_to_target(context, call):
                continue
            message = "the result of the move is discarded; only an nn.Module moves in place"
            yield context.finding("FL119", message, statement, severity=Severity.INFO)


def _moves_to_target(context: Context, call: ast.Call) -> bool:
    return (
        bool(call.args) and context.source.segment(call.args[0]) == context.vocabulary.target.move
    )
