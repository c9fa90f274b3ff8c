"""Registries: every member has an entry, names and suffixes are unique, each entry refers to something that exists."""

from __future__ import annotations

import ast
import importlib
import keyword
import re

from sources import ROOT, files, tree

from slmtok._engine import Pattern, pattern_names
from slmtok.cli import COMMANDS
from slmtok.corpus.formats import FORMATS
from slmtok.errors import ERRORS, SlmtokError
from slmtok.schemes import SCHEMES


def test_patterns_are_the_documented_ones() -> None:
    assert pattern_names() == ["slm", "gpt2", "cl100k", "cl100k-hf", "o200k", "whole"]
    for name in pattern_names():
        pattern = Pattern(name)
        assert pattern.name == name
        assert Pattern(pattern.regex).name == name


def test_schemes_are_the_documented_ones() -> None:
    assert list(SCHEMES) == ["bpe", "word", "char", "byte"]
    for name, scheme in SCHEMES.items():
        assert scheme.name == name
        assert scheme.purpose
        Pattern(scheme.pattern)


def test_corpus_formats_share_no_suffix() -> None:
    suffixes = [suffix for entry in FORMATS.values() for suffix in entry.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all((entry.engine is None) != (entry.rows is None) for entry in FORMATS.values())
    assert all(entry.name == name for name, entry in FORMATS.items())
    assert all(suffix.startswith(".") for suffix in suffixes)


def test_commands_are_functions_of_their_names() -> None:
    for name, entry in COMMANDS.items():
        module, _, attribute = entry.place.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert attribute.removesuffix("_" if keyword.iskeyword(name) else "") == name.replace("-", "_")
        assert command.name == name
        assert entry.summary[0].islower()
        assert not entry.summary.endswith(".")


def test_compatible_modules_import_and_are_tested() -> None:
    folder = ROOT / "slmtok/compat"
    members = sorted(path.stem for path in folder.glob("*") if not path.stem.startswith(("_", ".")))
    assert members
    tested = "".join(path.read_text(encoding="utf-8") for path in files("tests", suffix=".py"))
    for member in members:
        module = importlib.import_module(f"slmtok.compat.{member}")
        assert module.__all__, member
        assert re.search(rf"\bslmtok\.compat(?:\.{member}\b| import [^\n]*\b{member}\b)", tested), (
            f"no test of {member}"
        )


def test_every_error_class_is_listed() -> None:
    defined = {
        node.name
        for node in tree(ROOT / "slmtok/errors.py").body
        if isinstance(node, ast.ClassDef) and node.name not in ("SlmtokError", "Setting", "_Part")
    }
    assert {error.__name__ for error in ERRORS} == defined
    assert len(ERRORS) == len(defined)
    for error in ERRORS:
        assert issubclass(error, SlmtokError)
        assert error.__doc__


def test_every_error_of_the_binding_is_a_class() -> None:
    source = (ROOT / "rust/slmtok-py/src/bridge.rs").read_text(encoding="utf-8")
    variants = re.search(r"fn describe.*?^}", source, re.DOTALL | re.MULTILINE)
    assert variants
    named = set(re.findall(r'^\s+"([A-Z]\w+)"$', variants.group(), re.MULTILINE)) | set(
        re.findall(r'=> "([A-Z]\w+)"', variants.group())
    )
    named |= set(re.findall(r'raise\(py, "([A-Z]\w+)"', source))
    assert len(named) >= 10
    assert named <= {error.__name__ for error in ERRORS}


def test_layouts_are_registered_under_their_names() -> None:
    from slmtok.shards.format import FRAMES
    from slmtok.shards.layouts import LAYOUTS

    for name, layout in LAYOUTS.items():
        assert layout.name == name
        assert layout.frame in FRAMES
        assert layout.purpose


def test_benchmark_peers_are_pinned() -> None:
    from slmtok.bench.engines import ENGINES

    pinned = [f"{name}=={entry.version}" for name, entry in ENGINES.items() if name != "slmtok"]
    groups = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert [line for line in pinned if f'"{line}"' not in groups] == []
