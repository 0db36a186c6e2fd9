"""Whether code says what other code says, once all served vendors have one name.

Of the code that stays, what another vendor's code may lack is left out: a way out where there is no
accelerator, handlers of errors, and calls that only synchronise or clear.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from flmigrate.analysis.context import Context
from flmigrate.analysis.questions import Question
from flmigrate.analysis.reachability import leaves
from flmigrate.rules.simple import only_acts

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]+\Z")  # of the environment: CUDA_VISIBLE_DEVICES


def says_as_much(context: Context, kept: Sequence[ast.stmt], gone: Sequence[ast.stmt]) -> bool:
    """Whether ``kept`` does all that ``gone`` does, for the canonical vendor, and in that order.

    Names that a suite gives to its own values may differ in the vendor's name.
    """
    gone = [statement for statement in gone if not _imports_plugin(context, statement)]
    return bool(gone) and _spelled(context, gone, in_short=False) == _spelled(
        context, kept, in_short=True
    )


def _spelled(
    context: Context, suite: Sequence[ast.stmt], *, in_short: bool, follow: bool = True
) -> str:
    suite = list(_in_short(context, suite)) if in_short else list(suite)
    return _Speller(context, suite, in_short, follow).spell(suite)


def _imports_plugin(context: Context, statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import) and all(
        alias.name in context.vocabulary.plugins for alias in statement.names
    )


def _in_short(context: Context, suite: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a suite that count where an accelerator is there and nothing fails."""
    for statement in suite:
        match statement:
            case ast.If(test=test, body=body, orelse=[]) if leaves(body):
                if not _asks_whether_none(context, test):
                    yield statement
            case ast.Try(finalbody=[]):
                yield from _in_short(context, [*statement.body, *statement.orelse])
            case ast.Expr(value=ast.Call(func=function)):
                if function not in context.reference_at or not only_acts(context, [statement]):
                    yield statement
            case _:
                yield statement


def _asks_whether_none(context: Context, test: ast.expr) -> bool:
    """``not torch.cuda.is_available()``."""
    if not isinstance(test, ast.UnaryOp) or not isinstance(test.op, ast.Not):
        return False
    return context.predicates.atom(test.operand).question is Question.ACCELERATOR


class _Speller:
    """Trees as text, with one name for all served vendors."""

    def __init__(
        self, context: Context, suite: Sequence[ast.stmt], in_short: bool, follow: bool
    ) -> None:
        """``follow`` says that functions named for a vendor are spelled by what they do."""
        self._context = context
        self._in_short = in_short
        self._follow = follow
        parts = [part for statement in suite for part in ast.walk(statement)]
        self._own = {
            part.id
            for part in parts
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        }

    def spell(self, node: object) -> str:
        """A node, a list of nodes, or what a node holds, as text."""
        if isinstance(node, list | tuple):
            return f"[{','.join(map(self.spell, node))}]"
        if not isinstance(node, ast.AST):
            return repr(node)
        context = self._context
        if isinstance(node, ast.Call) and self._follow:
            said = self._said_by(node)
            if said is not None:
                return f"{said}{self.spell(node.args)}{self.spell(node.keywords)}"
        if isinstance(node, ast.Attribute | ast.Name):
            path = context.names.resolve(node).only
            if context.vendor_of(path) is not None:
                return context.vocabulary.canonical(path)
            plugin, _, name = path.partition(".")
            if name and plugin in context.vocabulary.plugins:  # torch_musa.device_count
                return f"torch.cuda.{name}"
        if isinstance(node, ast.Name) and node.id in self._own:
            return self._unnamed(node.id)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if _VARIABLE.match(node.value):
                return self._unnamed(node.value)
        fields = (self.spell(value) for name, value in ast.iter_fields(node) if name != "ctx")
        text = f"{type(node).__name__}({','.join(fields)})"
        return context.same_vendor.sub("VENDOR", text)

    def _said_by(self, call: ast.Call) -> str | None:
        """What a function does that is named for a vendor; ``None`` for all other calls."""
        name = self._context.names.called_name(call)
        if self._unnamed(name) == name:
            return None
        found = self._context.definition_of(call)
        if found is None or found[1].decorator_list:
            return None
        context, function = found
        if not isinstance(context.scopes.parents.get(function), ast.Module):
            return None  # a method is there to be overridden
        body = function.body[1:] if ast.get_docstring(function) else function.body
        said = _spelled(context, body, in_short=self._in_short, follow=False)
        return f"{self.spell(function.args)}{said}"

    def _unnamed(self, name: str) -> str:
        words = self._context.vocabulary.vendor_words
        return "_".join("VENDOR" if w.lower() in words else w for w in name.split("_"))
