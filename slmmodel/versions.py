"""Versions of this package and of what a result depends on; nothing is imported to know them."""

from __future__ import annotations

import sys


def package_version() -> str:
    """The version of the wheel that carries this package; `unknown` where it is used without being installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("slmtok")
    except PackageNotFoundError:
        return "unknown"


def versions() -> dict[str, str]:
    """What `--json` prints as `versions`: this package, Python, and torch where it has been imported."""
    found = {"slmmodel": package_version(), "python": ".".join(map(str, sys.version_info[:3]))}
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = str(torch.__version__)
    return found
