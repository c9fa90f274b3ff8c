"""`slmtok._engine` exports what `_native.pyi` declares. `make check` runs stubtest, which compares stub and module."""

from __future__ import annotations

import ast

from sources import ROOT, tree

from slmtok import _engine

# For the test of the FFI boundary, not for the library.
NOT_EXPORTED = {"provoke_panic"}


def test_engine_exports_every_declared_name() -> None:
    declared = set()
    for node in tree(ROOT / "slmtok/_native.pyi").body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            declared.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            declared.add(node.target.id)
    # Names with an underscore are types that only the stub has.
    assert set(_engine.__all__) == {name for name in declared if not name.startswith("_")} - NOT_EXPORTED
