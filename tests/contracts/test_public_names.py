"""Public names, frozen in `public_names.txt`. A change of that file is user-visible and belongs in the CHANGELOG.

To update the file: `python tests/contracts/test_public_names.py`.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

FROZEN = Path(__file__).with_name("public_names.txt")
MODULES = ("slmtok", "slmtok.errors", "slmtok.reference", "slmmodel", "slmmodel.vocab")


def current() -> list[str]:
    """Public names of the modules, and the public members of their classes."""
    found: set[str] = set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in _public(module):
            value = getattr(module, name)
            found.add(f"{module_name}.{name}")
            if inspect.isclass(value) and not issubclass(value, Exception):
                found |= {f"{module_name}.{name}.{member}" for member in _members(value)}
    return sorted(found)


def _public(module: object) -> list[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    # Without `__all__`: the names defined in the module itself.
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__  # type: ignore[attr-defined]
    ]


def _members(kind: type) -> set[str]:
    """Public methods, properties and dataclass fields that a class has from this project."""
    ours = [base for base in kind.__mro__ if base.__module__.startswith(("slmtok", "slmmodel"))]
    # `dir` leaves out names of other libraries, which only say what stands for them.
    names = {name for base in ours for name in vars(base) if not name.startswith("_")} & {*dir(kind)}
    if dataclasses.is_dataclass(kind):
        names |= {field.name for field in dataclasses.fields(kind) if not field.name.startswith("_")}
    return names


def test_public_names_are_the_frozen_ones() -> None:
    frozen = FROZEN.read_text(encoding="utf-8").splitlines()
    found = current()
    assert sorted(frozen) == frozen
    assert {"removed": sorted(set(frozen) - set(found)), "added": sorted(set(found) - set(frozen))} == {
        "removed": [],
        "added": [],
    }


def test_every_listed_name_exists() -> None:
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{module_name}.{name}"


RESULTS = (
    *("slmtok.analysis.align", "slmtok.analysis.audit", "slmtok.analysis.diff", "slmtok.analysis.exposure"),
    *("slmtok.analysis.measure", "slmtok.analysis.size_curve", "slmtok.analysis.strings", "slmtok.corpus.profile"),
    *("slmtok.formats.verification", "slmtok.pages.view_page", "slmtok.segments", "slmtok.shards.packing"),
    *("slmtok.shards.reader", "slmtok.shards.split", "slmtok.specials", "slmtok.training.counts", "slmtok.options"),
    *("slmtok.training.lock", "slmtok.training.overlap", "slmtok.training.report", "slmtok.training.surgery"),
    *("slmtok.vocabulary", "slmmodel.app", "slmmodel.data.loader", "slmmodel.data.opening", "slmmodel.vocab"),
    *("slmmodel.evaluation.certificate", "slmmodel.evaluation.comparison", "slmmodel.evaluation.exposure"),
    *("slmmodel.evaluation.retrieval", "slmmodel.evaluation.scoring", "slmmodel.evaluation.verdicts"),
    *("slmmodel.generation", "slmmodel.models", "slmmodel.models.config", "slmmodel.models.presets"),
    *("slmmodel.models.protocol", "slmmodel.sampling", "slmmodel.training.status"),
)
"""Modules of the results of public calls."""
NOT_RESULTS = {"slmtok.options.Options", "slmtok.options.OptionSpec", "slmmodel.sampling.StepContext"} | {
    "slmmodel.training.status.DrawnLines"
}


def test_results_name_the_attribute_that_an_index_means() -> None:
    for module_name in RESULTS:
        pytest.importorskip("torch" if module_name.startswith("slmmodel") else "slmtok")
        module = importlib.import_module(module_name)
        for name, kind in vars(module).items():
            is_own = inspect.isclass(kind) and kind.__module__ == module_name and not name.startswith("_")
            is_record = is_own and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"))
            if not is_record or f"{module_name}.{name}" in NOT_RESULTS:
                continue
            fields: list[str] = list(getattr(kind, "__dataclass_fields__", getattr(kind, "_fields", ())))
            result: Any = tuple.__new__(kind, range(len(fields))) if issubclass(kind, tuple) else object.__new__(kind)
            attribute = next((each for each in fields if not each.startswith("_")), None)
            with pytest.raises(TypeError, match=r"\n  fix:   ") as caught:
                result[attribute]
            if name not in ("Output", "Vocabulary"):
                assert f"result.{attribute}, of the {name} result" in str(caught.value)
            if issubclass(kind, tuple):
                assert result[-1] == len(fields) - 1


if __name__ == "__main__":
    FROZEN.write_text("".join(f"{name}\n" for name in current()), encoding="utf-8")
