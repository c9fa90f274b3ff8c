"""slmmodel: small language models over token ids. It knows a tokenizer by its vocabulary metadata alone."""

from __future__ import annotations

import sys

from slmmodel.imports_before_fork import finish_imports_before_fork

# As in `typing`, which the programs import only after they hear Ctrl-C.
TYPE_CHECKING = False
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


_LISTED = ("data", "models", "sampling", "evaluation")
"""Modules that list their names, of which one may be looked for here."""
_MODULES = ("app", "data", "evaluation", "generation", "models", "sampling")
"""Modules that docs and fixes name as `slmmodel.app`, also where `slmmodel` alone was imported."""


def meant_in_package(name: str) -> str | None:
    """What stands for a name that this package has not; None for other names."""
    from contextlib import suppress
    from importlib import import_module

    from slmmodel.foreign_names import CALLS_ELSEWHERE

    if name.startswith("_"):
        return None
    if name.startswith("AutoModel") or name.endswith(("ForCausalLM", "LMHeadModel")):
        return "slmmodel.load('run').model, of a run of slm train; slmmodel.models has the architectures"
    if name in CALLS_ELSEWHERE:
        return CALLS_ELSEWHERE[name].replace("{name}", name)
    if name[:1].isupper() or "_" in name.strip("_"):
        # Without the packages of models, the error for the name stays that of Python.
        with suppress(ImportError):
            found = (each for each in _LISTED if name in import_module(f"slmmodel.{each}").__all__)
            return next((f"from slmmodel.{each} import {name}" for each in found), None)
    return None


finish_imports_before_fork("slmmodel", "torch")


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"slmmodel.{name}")
    if name == "__version__":
        from slmmodel.versions import package_version

        return package_version()
    if name not in _PLACES:
        from importlib.util import find_spec

        is_import = sys._getframe(1).f_globals.get("__name__") == "importlib._bootstrap"
        # `from slmmodel import run_entries` asks for the name before it imports the module.
        is_module = is_import and find_spec(f"slmmodel.{name}") is not None
        from slmmodel.errors import with_import_explained

        if not is_module and (fix := meant_in_package(name)):
            # Of an `AttributeError`, `from slmmodel import ...` would show no message.
            fact = f"slmmodel has no {name!r}\n  fix:   {with_import_explained(fix)}"
            raise (ImportError if is_import else AttributeError)(fact)
        hint = "" if name.startswith("_") else "; slmmodel.load(path) opens a run, slmmodel.train(data) makes one"
        raise AttributeError(f"module 'slmmodel' has no attribute {name!r}{hint}")
    if _PLACES[name] == "slmmodel.run":
        from slmmodel.checks import check_working_folder

        check_working_folder()
    return getattr(import_module(_PLACES[name]), name)
