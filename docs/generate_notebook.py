"""Run the cells of docs/notebook.ipynb, and write what they print below them.

python docs/generate_notebook.py

The cells run in order and in one namespace, as in Jupyter, and leave what Jupyter would keep: the text that
is printed, and the last value of a cell as text, HTML or a picture. `tests/test_notebook.py` fails when the
notebook shows something else. A kernel would do no more for a page that is run from top to bottom, and
brings thirty packages that open ports.
"""
# ruff: noqa: INP001 - a script beside its page, not a package

import ast
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("notebook.ipynb")
#: What a value may show beside its text, and the method that gives it.
RICH = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def rerun(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook with the outputs of its cells as they are now."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = [dict(cell) for cell in notebook["cells"]]
    for number, cell in enumerate((each for each in cells if each["cell_type"] == "code"), start=1):
        cell |= {"execution_count": number, "outputs": _outputs("".join(cell["source"]), number, namespace)}
    return {**notebook, "cells": cells}


def _outputs(source: str, number: int, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints, and then what its last line is worth, if that is an expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(ast.Module(body, []), f"cell {number}", "exec"), namespace)  # noqa: S102 - our own cells
        value = None if last is None else _value(last, number, namespace)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        shown = {kind: _lines(text) for kind, text in _bundle(value).items()}
        outputs.append(
            {"data": shown, "execution_count": number, "metadata": {}, "output_type": "execute_result"}
        )
    return outputs


def _value(last: ast.Expr, number: int, namespace: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace)  # noqa: S307 - likewise


def _bundle(value: Any) -> dict[str, str]:
    """A value by kind of content."""
    bundle = {"text/plain": repr(value)}
    if hasattr(value, "_repr_mimebundle_"):
        rich = value._repr_mimebundle_(None, None)
        return bundle | (rich[0] if isinstance(rich, tuple) else rich)
    return bundle | {kind: str(getattr(value, how)()) for kind, how in RICH.items() if hasattr(value, how)}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def written(notebook: dict[str, Any]) -> str:
    """A notebook as Jupyter writes it."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    page = rerun(json.loads(PAGE.read_text(encoding="utf-8")))
    PAGE.write_text(written(page), encoding="utf-8", newline="\n")
