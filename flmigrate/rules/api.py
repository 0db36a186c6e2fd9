"""FL101-FL104, FL110, FL112, FL115: vendor API by its dotted name.

What a name becomes is a line of the target's table; this module only carries the line out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flmigrate.analysis.context import Context, Reference
from flmigrate.analysis.vocabulary import CANONICAL
from flmigrate.findings import Edit, Expression, Finding, Fix, Severity, Statement
from flmigrate.rules.aliases import Aliases
from flmigrate.rules.templates import call_edits, fill, rename
from flmigrate.tables import Api

# Groups of entries that have a code of their own.
_GROUP_CODES = {"data-parallel": "FL115", "tensor-type": "FL107", "cuda-source": "FL305"}


def check(context: Context) -> Iterator[Finding]:
    """Findings for every reference to API that the target's table speaks of."""
    aliases = Aliases(context)
    for reference in context.references:
        entry = reference.entry
        if entry is None:
            yield from _unlisted(context, aliases, reference)
        elif entry.group == "tensor-type" and entry.status != "none":
            continue  # rules/tensor_types.py
        elif reference.path == entry.to and not entry.in_place:
            message = f"{reference.path} is not quite what {CANONICAL} has"
            detail = entry.note or ""
            yield context.finding("FL102", message, reference.node, note=True, detail=detail)
        elif entry.capability:
            yield _capability(context, reference, entry)
        elif entry.status == "keep":
            message = f"{reference.path} stays as it is"
            yield context.finding(
                "FL102",
                message,
                reference.node,
                severity=Severity.INFO,
                detail=entry.note or "",
            )
        elif entry.group == "cuda-source" and not _builds_cuda(context, reference):
            continue
        elif entry.status == "none":
            yield _missing(context, reference, entry)
        else:
            yield from _mapped(context, aliases, reference, entry)
    yield from aliases.findings()
    yield from _bindings(context)


def _bindings(context: Context) -> Iterator[Finding]:
    """``torch._C._cuda_getCurrentRawStream`` and the like exist in CUDA builds only."""
    for node in context.scopes.nodes[ast.Attribute]:
        if node.attr.startswith("_cuda"):
            path = context.names.resolve(node).only
            if path.startswith("torch._C._cuda"):
                message = f"{path} exists in CUDA builds of torch only"
                yield context.finding("FL103", message, node, note=True)


def _unlisted(context: Context, aliases: Aliases, reference: Reference) -> Iterator[Finding]:
    """The namespace itself used as a value, or a name in it that no table knows."""
    target = context.vocabulary.target
    if context.vocabulary.canonical(reference.path) != CANONICAL:
        name = reference.path.rpartition(".")[2]
        message = (
            f"{target.title} has no counterpart of {reference.path} ({name} is not in its table)"
        )
        yield context.finding("FL103", message, reference.node, note=True)
        return
    parent = context.scopes.parents.get(reference.node)
    message = f"{reference.path} is passed around as a module; later look-ups on it are not checked"
    edits: tuple[Edit, ...]
    if isinstance(parent, ast.Attribute):
        return
    if aliases.covers(reference):
        renamed = aliases.renames(reference)
        if renamed is not None:
            fix = Fix(f"Use {target.namespace}", (renamed,))
            yield context.finding("FL110", message, reference.node, severity=Severity.INFO, fix=fix)
        return
    if target.namespace.replace(".", "").isidentifier():
        edits = (rename(context, reference.node, aliases.spelling(reference, target.namespace)),)
    else:
        edits = (Expression(context.source.span(reference.node), target.namespace),)
    fix = Fix(f"Use {target.namespace}", edits) if reference.certain else None  # type: ignore[assignment]
    yield context.finding("FL110", message, reference.node, severity=Severity.INFO, fix=fix)


def _capability(context: Context, reference: Reference, entry: Api) -> Finding:
    message = f"{reference.path} describes NVIDIA hardware or builds"
    inside = context.names.enclosing(
        reference.node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda
    )
    called = context.is_called(reference.node) is not None
    severity = Severity.ERROR if called and inside is None else Severity.WARNING
    if severity is Severity.ERROR:
        message += ", and this runs on import"
    return context.finding(
        "FL104", message, reference.node, severity=severity, note=True, detail=entry.note or ""
    )


def _missing(context: Context, reference: Reference, entry: Api) -> Finding:
    code = _GROUP_CODES.get(entry.group or "", "FL103")
    target = context.vocabulary.target.title
    message = f"{target} has no {reference.path}"
    return context.finding(code, message, reference.node, note=True, detail=entry.note or "")


def _builds_cuda(context: Context, reference: Reference) -> bool:
    """Whether an extension is built from CUDA sources; C++ for the CPU is portable."""
    call = context.is_called(reference.node)
    if call is None:
        return False
    if reference.path.endswith("CUDAExtension"):
        return True
    if any(keyword.arg in ("cuda_sources", "with_cuda") for keyword in call.keywords):
        return True
    return any(
        isinstance(part, ast.Constant) and str(part.value).endswith((".cu", ".cuh"))
        for part in ast.walk(call)
    )


def _mapped(
    context: Context, aliases: Aliases, reference: Reference, entry: Api
) -> Iterator[Finding]:
    if aliases.is_import_guarded(reference):
        return
    if reference.path.endswith("get_device_name") and _is_identity_test(context, reference.node):
        message = "the vendor is told by the device's marketing name, which says nothing here"
        yield context.finding("FL104", message, reference.node, note=True)
        return
    edits = edits_for(context, aliases, reference, entry)
    if edits != [] and not reference.certain:
        message = f"this may be {reference.path} or something else"
        detail = f"{reference.path} becomes {_wanted(entry)}"
        yield context.finding("FL101", message, reference.node, note=True, detail=detail)
        return
    if edits is None:
        message = f"{reference.path} has to be moved by hand here"
        if entry.in_place:
            message = f"{reference.path} needs a device here, which defaults to cuda"
        detail = f"it becomes {_wanted(entry)}" + (f"; {entry.note}" if entry.note else "")
        code = "FL101" if entry.status != "partial" else "FL102"
        yield context.finding(code, message, reference.node, note=True, detail=detail)
        return
    if not edits:
        return
    title = f"Use {_wanted(entry)}"
    message = f"{reference.path} becomes {_wanted(entry)}"
    code = "FL101"
    if entry.status == "partial":
        code = "FL102"
    if entry.group in _GROUP_CODES:
        code = _GROUP_CODES[entry.group]
    fix = Fix(title, tuple(edits))
    yield context.finding(
        code, message, reference.node, severity=Severity.INFO, fix=fix, detail=entry.note or ""
    )


def _wanted(entry: Api) -> str:
    text = entry.to or entry.call or entry.value or entry.statement or ""
    return " ".join(re.sub(r"\$\*", "...", text).replace("$", "").split())


def _is_identity_test(context: Context, node: ast.expr) -> bool:
    """``"A100" in torch.cuda.get_device_name(0)`` and the like ask for a product."""
    current: ast.AST | None = context.is_called(node)
    while isinstance(current, ast.Call | ast.Attribute | ast.Subscript):
        current = context.scopes.parents.get(current)
    return isinstance(current, ast.Compare)


def edits_for(
    context: Context, aliases: Aliases, reference: Reference, entry: Api
) -> list[Edit] | None:
    """The edits for one reference; empty where nothing is to do, ``None`` where none fits."""
    node, call = reference.node, context.is_called(reference.node)
    if aliases.hides_torch(node) or _comes_by_star(context, node):
        return None
    if call is None:
        return _uncalled(context, aliases, reference, entry)
    if entry.statement:
        statement = context.scopes.parents.get(call)
        template = _unbound(context, entry.statement, call)
        if not isinstance(statement, ast.Expr) or template is None:
            return None
        filled = fill(context, aliases.localized(node, template), call, entry)
        return [Statement(context.source.span(statement), *filled)] if filled else None
    if entry.call:
        filled = fill(context, aliases.localized(node, entry.call), call, entry)
        return [Expression(context.source.span(call), *filled)] if filled else None
    if not entry.to:
        return None
    callee = aliases.spelling(reference, entry.import_to or entry.to)
    if callee != reference.written:
        callee = aliases.spelling(reference, entry.to)
    return call_edits(context, reference, call, entry, callee, aliases)


def _comes_by_star(context: Context, node: ast.expr) -> bool:
    """Whether a name is only bound by a star import, in a file that does not bind torch."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    unbound = isinstance(root, ast.Name) and context.scopes.binder(root) is None
    return unbound and not context.scopes.binds("torch")


def _uncalled(
    context: Context, aliases: Aliases, reference: Reference, entry: Api
) -> list[Edit] | None:
    node = reference.node
    if entry.value:
        return [Expression(context.source.span(node), _value(aliases, reference, entry))]
    if entry.in_place:
        return []
    if not entry.to or entry.call:
        return None
    if (entry.first or entry.append or entry.keyword) and not _names_a_type(context, node):
        return None  # handed on as a function, it would be called without the device
    new = aliases.spelling(reference, entry.to)
    return [] if new == reference.written else [rename(context, node, new)]


def _value(aliases: Aliases, reference: Reference, entry: Api) -> str:
    """The expression for a reference that is not called, spelled as the file does."""
    value = entry.value or ""
    for home in (entry.import_to, entry.to):
        if home and value.startswith(home):
            return aliases.spelling(reference, home) + value[len(home) :]
    return aliases.localized(reference.node, value)


# Names for the variables of a statement template where its own are taken.
_OTHER_NAMES = {"i": "device_index", "s": "rng_state"}


def _unbound(context: Context, template: str, call: ast.Call) -> str | None:
    """A statement template whose variables overwrite none of the code around the call."""
    module = ast.parse(template.replace("$", ""))
    scope = context.scopes.around(call)
    for name in ast.walk(module):
        if not isinstance(name, ast.Name) or not isinstance(name.ctx, ast.Store):
            continue
        if scope.owner(name.id) is not None:
            other = _OTHER_NAMES.get(name.id)
            if other is None or scope.owner(other) is not None:
                return None
            template = re.sub(rf"(?<![$.\w]){name.id}\b", other, template)
    return template


def _names_a_type(context: Context, node: ast.expr) -> bool:
    """Whether a class stands in an annotation or an ``isinstance`` test."""
    current: ast.AST = node
    parent = context.scopes.parents.get(current)
    while isinstance(parent, ast.Subscript | ast.BinOp | ast.Tuple):
        current, parent = parent, context.scopes.parents.get(parent)
    if isinstance(parent, ast.Call):
        return context.names.resolve(parent.func).only == "builtins.isinstance"
    if isinstance(parent, ast.AnnAssign):
        return parent.annotation is current
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
        return parent.returns is current
    return isinstance(parent, ast.arg)
