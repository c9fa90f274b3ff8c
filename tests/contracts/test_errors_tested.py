"""Each error class is raised by some test: it stands in a call of `pytest.raises`.

Tests are read, not run. What `raises` is given counts where it is the class itself, or the name of a test's parameter:
then the classes in the table of that `parametrize` count, and in the tables that it names. A parameter may be handed
on to a helper of the same file whose own parameter is what `raises` gets. An error that nobody has seen is a sentence
that nobody has read.
"""

from __future__ import annotations

import ast
from pathlib import Path

from sources import files, tree

from slmtok.errors import ERRORS

# What no Python test can bring about, with the reason.
UNTESTED = {
    "CorpusTooLarge": "needs four gigabytes of distinct pieces; a Rust test lowers the limit",
    "Interrupted": "never reaches Python: the exception that stopped the work is raised in its place",
}
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


def _given_to_raises(function: ast.FunctionDef, helpers: set[str]) -> set[str]:
    """What `raises` gets within a function: its first argument, or all arguments of a helper that hands one on."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _called(node) == "raises" and node.args:
            found |= _names(node.args[0])
        elif isinstance(node, ast.Call) and _called(node) in helpers:
            found |= set().union(*map(_names, node.args))
    return found


def _tables(module: ast.Module) -> dict[str, set[str]]:
    """The names in each table in capitals at the top of a file."""
    found: dict[str, set[str]] = {}
    for node in module.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id.isupper():
                    found[target.id] = _names(node.value)
    return found


def _parametrized(function: ast.FunctionDef, tables: dict[str, set[str]]) -> dict[str, set[str]]:
    """The names in the values of each parameter; several parameters of one `parametrize` share them."""
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
    """Names that a function unpacks from a row of a table, `a, error = TABLE[row]`, with that table's name."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            for target in node.targets:
                found |= {name: _names(node.value.value) for name in _names(target)}
    return found


def _expected(module: ast.Module) -> set[str]:
    """The error classes that the tests of one file expect of `raises`."""
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    tables = _tables(module)
    helpers = {
        function.name
        for function in functions
        if not function.name.startswith("test")
        and _given_to_raises(function, set()) & {argument.arg for argument in function.args.args}
    }
    seen: set[str] = set()
    for function in functions:
        given = _given_to_raises(function, helpers)
        parameters = _parametrized(function, tables)
        rows = {name: set().union(*(tables.get(t, set()) for t in of)) for name, of in _unpacked(function).items()}
        seen |= given.union(*(found.get(name, set()) for name in given for found in (parameters, rows)))
    return seen & CLASSES


def _in(text: str) -> set[str]:
    return _expected(ast.parse(text))


def test_the_reading_of_tests() -> None:
    """A comparison, an import or a table that nothing hands to `raises` does not count."""
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
    seen: set[str] = set().union(*(_expected(tree(path)) for path in sources))
    assert CLASSES - seen == set(UNTESTED)
