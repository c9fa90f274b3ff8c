"""`_native.pyi` has the names of the compiled module and the parameters of its functions and methods.

`make check` also runs mypy's stubtest; this test needs the module alone.
"""

from __future__ import annotations

import ast
import inspect
from importlib import import_module

from sources import ROOT, tree

from slmtok import _engine

STUB = tree(ROOT / "slmtok/_native.pyi")
NATIVE = import_module("slmtok._native")
# For the test of the FFI boundary, not for the library.
NOT_EXPORTED = {"provoke_panic"}


def _defined(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    # Names with an underscore are types that only the stub has.
    return {name: node for name, node in found.items() if not name.startswith("_") or name == "__new__"}


def _stub_parameters(node: ast.FunctionDef) -> list[str]:
    arguments = node.args
    named = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return [name for name in named if name not in ("self", "cls")]


def _real_parameters(value: object) -> list[str]:
    return [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]  # type: ignore[arg-type]


def test_engine_exports_every_name() -> None:
    assert set(_engine.__all__) == set(_defined(STUB.body)) - NOT_EXPORTED


def test_module_has_the_names_of_the_stub() -> None:
    assert {name for name in vars(NATIVE) if not name.startswith("_")} == set(_defined(STUB.body))


def test_functions_have_the_parameters_of_the_stub() -> None:
    for name, node in _defined(STUB.body).items():
        if isinstance(node, ast.FunctionDef):
            assert _real_parameters(getattr(NATIVE, name)) == _stub_parameters(node), name


def test_classes_have_the_members_of_the_stub() -> None:
    for name, node in _defined(STUB.body).items():
        if not isinstance(node, ast.ClassDef):
            continue
        kind = getattr(NATIVE, name)
        members = _defined(node.body)
        public = set(members) - {"__new__"}
        assert {member for member in vars(kind) if not member.startswith("_")} == public, name
        for member in public:
            declared = members[member]
            assert isinstance(declared, ast.FunctionDef)
            decorators = {getattr(decorator, "id", "") for decorator in declared.decorator_list}
            if "property" in decorators:
                assert inspect.isgetsetdescriptor(vars(kind)[member]), f"{name}.{member}"
            else:
                assert _real_parameters(getattr(kind, member)) == _stub_parameters(declared), f"{name}.{member}"
        if "__new__" in members:
            new = members["__new__"]
            assert isinstance(new, ast.FunctionDef)
            assert _real_parameters(kind) == _stub_parameters(new), name
