"""Versions of this package and of its dependencies, found without importing them."""

from __future__ import annotations

import sys


def package_version(name: str = "slmtok", absent: str = "unknown") -> str:
    """The version of an installed distribution; `absent` where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return absent


def versions() -> dict[str, str]:
    """The value of `versions` in `--json`: this package, Python and torch."""
    python = ".".join(map(str, sys.version_info[:3]))
    return {"slmmodel": package_version(), "python": python, "torch": package_version("torch")}
