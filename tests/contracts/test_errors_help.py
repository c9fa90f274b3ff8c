"""Each error says what to do: where one of our classes is made, a `fix` is given.

Code is read, not run. Errors about specials in text carry their remedies as lines of their own; `FaultError` is told by
its caller, with a fix.
"""

from __future__ import annotations

import ast

from sources import library, name, tree

from slmmodel.errors import ERRORS as MODEL_ERRORS
from slmtok.errors import ERRORS

WITHOUT = {"SpecialInText"}
CLASSES = {error.__name__ for error in (*ERRORS, *MODEL_ERRORS)} - WITHOUT


def test_errors_have_a_remedy() -> None:
    silent = [
        f"{name(path)}:{node.lineno}"
        for path in library()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in CLASSES
        and not any(keyword.arg == "fix" for keyword in node.keywords)
    ]
    assert silent == []
