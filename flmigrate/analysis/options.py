"""Parameters that calls declare by their names: command-line options and pytest's parameters."""

from __future__ import annotations

import ast

_DECLARERS = frozenset(
    "add_argument option Option argument Argument DEFINE_string DEFINE_enum".split()
)


def option_name(call: ast.Call) -> str | None:
    """The destination of a command-line option declared by a call, or ``None``.

    ``add_argument("-d", "--my-device")`` gives ``my_device``; click's ``option`` likewise.
    """
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if isinstance(call.func, ast.Name):
        name = call.func.id
    if name not in _DECLARERS:
        return None
    for keyword in call.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    texts = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    long = [text for text in texts if text.startswith("--")]
    # click takes a name without dashes for the parameter, whatever the options are called.
    bare = [text for text in texts if text.isidentifier()] if name == "option" else []
    chosen = (bare or long or texts or [""])[0]
    return chosen.lstrip("-").replace("-", "_")


def is_parametrize(call: ast.Call) -> bool:
    """Whether a call is ``pytest.mark.parametrize(names, values)``."""
    return isinstance(call.func, ast.Attribute) and (
        call.func.attr == "parametrize" and len(call.args) > 1
    )


def parametrized_names(call: ast.Call) -> list[str]:
    """The parameters that a ``parametrize`` fills: ``"a,b"`` and ``("a", "b")`` give both."""
    listed = call.args[0]
    if isinstance(listed, ast.Constant) and isinstance(listed.value, str):
        return [name.strip() for name in listed.value.split(",")]
    if isinstance(listed, ast.List | ast.Tuple):
        return [str(e.value) for e in listed.elts if isinstance(e, ast.Constant)]
    return []
