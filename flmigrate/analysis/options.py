"""Command-line options, as argparse, click, typer and absl declare them."""

from __future__ import annotations

import ast


def option_name(call: ast.Call) -> str | None:
    """The destination of a command-line option declared by a call, or ``None``.

    ``add_argument("-d", "--my-device")`` gives ``my_device``; click's ``option`` likewise.
    """
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if isinstance(call.func, ast.Name):
        name = call.func.id
    if name not in ("add_argument", "option", "Option", "argument", "Argument", "DEFINE_string"):
        return None
    for keyword in call.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    texts = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    long = [text for text in texts if text.startswith("--")]
    chosen = (long or texts or [""])[0]
    return chosen.lstrip("-").replace("-", "_")
