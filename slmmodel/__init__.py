"""slmmodel: small language models over token ids. It knows a tokenizer by its vocabulary metadata alone."""

from __future__ import annotations

import sys

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


_OF_SHELL = {
    "compare": "slm compare a.losses b.losses in a shell, of losses that slm eval RUN --losses FILE writes",
    "ablate": "slm ablate in a shell, of which slmmodel.app.load_ablation(path) opens the result",
    "export": "slm export RUN -o NEW in a shell",
    "resume": "slm resume RUN in a shell",
    "plot": "slm plot RUN -o curves.svg in a shell",
    "chat": "slm chat RUN in a shell",
}
_OF_RUN = {**dict.fromkeys(("generate", "sample"), "generate(ids)"), "evaluate": "evaluate()", "score": "score(ids)"}
"""Names that one may look for here: commands of slm, and methods of a run."""


def _meant(name: str) -> str | None:
    """What stands for a name that this package has not; None for other names."""
    if name.startswith("AutoModel") or name.endswith(("ForCausalLM", "LMHeadModel")):
        return "slmmodel.load('run').model, of a run of slm train; slmmodel.models has the architectures"
    if name in _OF_SHELL:
        return _OF_SHELL[name]
    if name in _OF_RUN:
        return f"slmmodel.load('run').{_OF_RUN[name]}, or slmmodel.app.load('run') for text"
    from contextlib import suppress
    from importlib import import_module
    from importlib.util import find_spec

    # `from slmmodel import run_entries` asks for the name before it imports the module.
    if (name[:1].isupper() or "_" in name.strip("_")) and find_spec(f"slmmodel.{name}") is None:
        # Without the packages of models, the error for the name stays that of Python.
        with suppress(ImportError):
            found = (each for each in _LISTED if name in import_module(f"slmmodel.{each}").__all__)
            return next((f"from slmmodel.{each} import {name}" for each in found), None)
    return None


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"slmmodel.{name}")
    if name == "__version__":
        from slmmodel.versions import package_version

        return package_version()
    if name not in _PLACES:
        if fix := _meant(name):
            # Of an `AttributeError`, `from slmmodel import ...` would show no message.
            is_import = sys._getframe(1).f_globals.get("__name__") == "importlib._bootstrap"
            raise (ImportError if is_import else AttributeError)(f"slmmodel has no {name!r}\n  fix:   {fix}")
        hint = "" if name.startswith("_") else "; slmmodel.load(path) opens a run, slmmodel.train(data) makes one"
        raise AttributeError(f"module 'slmmodel' has no attribute {name!r}{hint}")
    if _PLACES[name] == "slmmodel.run":
        from slmmodel.checks import check_working_folder

        check_working_folder()
    return getattr(import_module(_PLACES[name]), name)
