"""Each error class is raised by a test, and each error that the packages raise says what to do.

Code is read, not run. A class counts as tested if it is an argument of `pytest.raises`, directly or through a parameter
of the test: then the values of that `parametrize` count, and the tables named there. A test may pass the parameter to a
helper of the same file whose own parameter is the argument of `raises`.
"""

from __future__ import annotations

import ast
from pathlib import Path

from sources import files, library, name, tree

from slmmodel.errors import ERRORS as MODEL_ERRORS
from slmtok.errors import ERRORS

# Classes that no Python test can raise, with the reason.
UNTESTED = {
    "CorpusTooLarge": "needs 4 GiB of distinct pieces; a Rust test lowers the limit",
    "Interrupted": "replaced by the exception that stopped the work before it reaches Python",
}
WITHOUT_FIX = {"SpecialInText"}  # its remedies are lines of the message
CLASSES = {error.__name__ for error in ERRORS}


def _names(node: ast.AST) -> set[str]:
    """Names and attributes in an expression."""
    return {
        inner.id if isinstance(inner, ast.Name) else inner.attr
        for inner in ast.walk(node)
        if isinstance(inner, (ast.Name, ast.Attribute))
    }


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _raises_arguments(function: ast.FunctionDef, helpers: set[str]) -> set[str]:
    """Names in the first argument of `raises` within a function, and in all arguments of helpers that pass one on."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _called(node) == "raises" and node.args:
            found |= _names(node.args[0])
        elif isinstance(node, ast.Call) and _called(node) in helpers:
            found |= set().union(*map(_names, node.args))
    return found


def _tables(module: ast.Module) -> dict[str, set[str]]:
    """Names in each module-level table, which has a name in capitals."""
    found: dict[str, set[str]] = {}
    for node in module.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id.isupper():
                    found[target.id] = _names(node.value)
    return found


def _parametrized(function: ast.FunctionDef, tables: dict[str, set[str]]) -> dict[str, set[str]]:
    """Names in the values of each parameter; the parameters of one `parametrize` share them."""
    found: dict[str, set[str]] = {}
    for node in function.decorator_list:
        if not (isinstance(node, ast.Call) and _called(node) == "parametrize"):
            continue
        listed, values = node.args[:2]
        names = _names(values)
        names |= set().union(*(tables.get(name, set()) for name in names))
        for constant in ast.walk(listed):
            if isinstance(constant, ast.Constant):
                found |= {name.strip(): names for name in str(constant.value).split(",")}
    return found


def _unpacked(function: ast.FunctionDef) -> dict[str, set[str]]:
    """Names unpacked from a row of a table, `a, error = TABLE[row]`, with the name of the table."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            for target in node.targets:
                found |= {name: _names(node.value.value) for name in _names(target)}
    return found


def _expected(module: ast.Module) -> set[str]:
    """The error classes that the tests of one file pass to `raises`."""
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    tables = _tables(module)
    helpers = {
        function.name
        for function in functions
        if not function.name.startswith("test")
        and _raises_arguments(function, set()) & {argument.arg for argument in function.args.args}
    }
    expected: set[str] = set()
    for function in functions:
        given = _raises_arguments(function, helpers)
        parameters = _parametrized(function, tables)
        rows = {name: set().union(*(tables.get(t, set()) for t in of)) for name, of in _unpacked(function).items()}
        expected |= given.union(*(found.get(name, set()) for name in given for found in (parameters, rows)))
    return expected & CLASSES


def _in(text: str) -> set[str]:
    return _expected(ast.parse(text))


def test_only_arguments_of_raises_count() -> None:
    """Comparisons, imports and tables that no `raises` uses do not."""
    assert _in("def test():\n with pytest.raises(errors.UnknownId, match='x'):\n  f()") == {"UnknownId"}
    assert _in("def test():\n with raises((KeyError, UnknownId)):\n  f()") == {"UnknownId"}
    assert _in("def test():\n assert kind is UnknownId\n assert name == 'UnknownId'") == set()
    assert _in("CASES = [UnknownId]\ndef test():\n with raises(KeyError):\n  f(CASES)") == set()
    body = "(kind, x):\n with raises(kind):\n  f(x)"
    assert _in(f"@mark.parametrize('kind, x', [(UnknownId, 1)])\ndef test{body}") == {"UnknownId"}
    assert _in(f"CASES = [(UnknownId, 1)]\n@mark.parametrize(('kind', 'x'), CASES)\ndef test{body}") == {"UnknownId"}
    assert _in("@mark.parametrize('kind', [UnknownId])\ndef test(kind):\n assert kind") == set()


def test_every_error_is_raised_by_a_test() -> None:
    sources: list[Path] = [path for path in files("tests", suffix=".py") if "contracts" not in path.parts]
    tested: set[str] = set().union(*(_expected(tree(path)) for path in sources))
    assert CLASSES - tested == set(UNTESTED)


def test_every_error_has_a_remedy() -> None:
    """Each call of an error class in the packages has the keyword `fix`."""
    classes = CLASSES | {error.__name__ for error in MODEL_ERRORS}
    missing = [
        f"{name(path)}:{node.lineno}"
        for path in library()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in classes - WITHOUT_FIX
        and not any(keyword.arg == "fix" for keyword in node.keywords)
    ]
    assert missing == []
