"""Variables of a fix that stand for what the caller gave, whose name an error does not know."""

from __future__ import annotations

import ast
import re
from itertools import product

_STANDING = """
    a arr b batch corpus d data df docs ds encoded ids indices out path paths pieces ragged record row rows
    text texts xs
""".split()  # noqa: SIM905  (a list of words)
"""Variables with which errors write calls."""
_END_OF_CALL = re.compile(", |; | for ")


def explained(fix: str) -> str:
    """The fix, with the variables in it for which the caller writes a value of its own; prose stays as it is."""
    starts = [0, *(found.end() for found in re.finditer(": ", fix))][:2]
    ends = [len(fix), *(found.start() for found in reversed([*_END_OF_CALL.finditer(fix)]))]
    for start, end in product(starts, ends):
        if (tree := _call(fix[start:end])) is not None:
            names = [name for name in _free_names(tree) if not re.search(rf"\b{name}\b[^;]* stands? for ", fix)]
            are = "stands for your own value" if len(names) == 1 else "stand for your own values"
            mark = "  # " if end == len(fix) and "  # " not in fix else "; "
            return f"{fix}{mark}{', '.join(names)} {are}" if names else fix
    return fix


def _call(text: str) -> ast.AST | None:
    """The tree of Python source with a call or an index; None for anything else."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if any(isinstance(node, (ast.Call, ast.Subscript)) for node in ast.walk(tree)) else None


def _free_names(tree: ast.AST) -> list[str]:
    """The variables of `_STANDING` that the source reads and does not set, in the order of their first use."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    own.update(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))
    found = dict.fromkeys(node.id for node in names if node.id in _STANDING and node.id not in own)
    return [*found]
