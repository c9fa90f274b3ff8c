"""The package version, the Unicode version and the minimum Python version are equal in all files that state them."""

from __future__ import annotations

import importlib.metadata
import re

from sources import ROOT

import slmtok
from slmtok._engine import UNICODE_VERSION


def _find(path: str, pattern: str) -> str:
    found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    assert found, f"{path} has no {pattern}"
    return found.group(1)


def test_cargo_python_and_changelog_have_the_same_version() -> None:
    cargo = _find("Cargo.toml", r'\[workspace\.package\]\nversion = "([^"]+)"')
    assert slmtok.__version__ == cargo
    assert importlib.metadata.version("slmtok") == cargo
    assert _find("CHANGELOG.md", r"^## (\d+\.\d+\.\d+\S*)") == cargo
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_minimum_python_version_is_the_same() -> None:
    minimum = _find("pyproject.toml", r'requires-python = ">=([\d.]+)"')
    digits = minimum.replace(".", "")
    assert _find("pyproject.toml", r'target-version = "py(\d+)"') == digits
    assert _find("pyproject.toml", r'python_version = "([\d.]+)"') == minimum
    assert _find("rust/slmtok-py/Cargo.toml", r"abi3-py(\d+)") == digits
    assert f"Python {minimum}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_unicode_version_is_that_of_the_generated_table() -> None:
    assert UNICODE_VERSION == "16.0.0"
    table = (ROOT / "rust/slmtok-core/src/pretoken/unicode_table.rs").read_text(encoding="utf-8")
    assert UNICODE_VERSION in table
