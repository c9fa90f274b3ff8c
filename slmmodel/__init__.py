"""slmmodel: small language models over token ids. It knows a tokenizer by its vocabulary metadata alone."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slmmodel.errors import SlmmodelError
    from slmmodel.run import Run, load, train
    from slmmodel.vocab import VocabMeta

__all__ = ["Run", "SlmmodelError", "VocabMeta", "__version__", "load", "train"]
_PLACES = {
    **dict.fromkeys(("Run", "load", "train"), "slmmodel.run"),
    "SlmmodelError": "slmmodel.errors",
    "VocabMeta": "slmmodel.vocab",
}
"""What is imported on first use: `slm --help` does without pydantic and torch."""


_MODULES = ("app", "data", "evaluation", "generation", "models", "sampling")
"""Modules that docs and fixes name as `slmmodel.app`, also where `slmmodel` alone was imported."""


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"slmmodel.{name}")
    if name == "__version__":
        from slmmodel.versions import package_version

        return package_version()
    if name not in _PLACES:
        if name.startswith("AutoModel") or name.endswith(("ForCausalLM", "LMHeadModel")):
            # Of an `AttributeError`, `from slmmodel import ...` would show no message.
            is_import = sys._getframe(1).f_globals.get("__name__") == "importlib._bootstrap"
            fix = "slmmodel.load('run').model, of a run of slm train; slmmodel.models has the architectures"
            raise (ImportError if is_import else AttributeError)(f"slmmodel has no {name!r}\n  fix:   {fix}")
        hint = "" if name.startswith("_") else "; slmmodel.load(path) opens a run, slmmodel.train(data) makes one"
        raise AttributeError(f"module 'slmmodel' has no attribute {name!r}{hint}")
    if _PLACES[name] == "slmmodel.run":
        from slmmodel.checks import check_working_folder

        check_working_folder()
    return getattr(import_module(_PLACES[name]), name)
