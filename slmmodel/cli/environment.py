"""What each command of `slm` needs: the packages of the extra `model`, and a working folder."""

from __future__ import annotations

import importlib.util

from slmmodel.checks import check_working_folder
from slmmodel.errors import missing_package

PACKAGES = {"torch": "torch", "safetensors": "safetensors", "pydantic": "pydantic", "yaml": "PyYAML"}
"""The modules of the extra `model`, each with its package."""


def missing_packages() -> list[str]:
    """The packages of the extra `model` that are not installed."""
    return [package for module, package in PACKAGES.items() if importlib.util.find_spec(module) is None]


def check_environment(command: str) -> None:
    """Raises `MissingPackage` without torch, and what `check_working_folder` raises."""
    if importlib.util.find_spec("torch") is None:
        raise missing_package(f"'slm {command}'", *missing_packages())
    check_working_folder("cd to a folder that exists")
