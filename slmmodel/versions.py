"""Versions of this package and of its dependencies, found without importing them."""

from __future__ import annotations

import sys


def package_version() -> str:
    """The version of the installed wheel; `unknown` where the package is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("slmtok")
    except PackageNotFoundError:
        return "unknown"


def versions() -> dict[str, str]:
    """The value of `versions` in `--json`: this package, Python, and torch where it is imported."""
    found = {"slmmodel": package_version(), "python": ".".join(map(str, sys.version_info[:3]))}
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = str(torch.__version__)
    return found
