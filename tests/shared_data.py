"""The shared corpora, which are too large for the repository.

`SLMTOK_SHARED` names their folder (default `../shared` from the root). Without it tests skip and say so; with
`SLMTOK_REQUIRE_SHARED=1` a missing corpus fails them. Corpora are unpacked once, into the system's temporary folder.
Third-party oracles follow the same rule: see `peer`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORPORA = ("books", "docs_en", "multi", "code")


def shared_folder() -> Path:
    """The folder that holds `data/corpora` and `data/tiktoken-cache`."""
    return Path(os.environ.get("SLMTOK_SHARED") or ROOT.parent / "shared")


def missing(what: str) -> NoReturn:
    """Skips the test, or fails it where the shared data must be there."""
    _skip_or_fail(f"{what} is not there; SLMTOK_SHARED names the folder with the shared data")


def peer(name: str) -> Any:
    """An outside package to compare with. Without it the test, or at the top of a file all of its tests, is skipped; or
    fails, where nothing may be missing. A package that is there and does not import is an error in any case."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    return _skip_or_fail(f"the package {name} is not installed; `make setup` installs all that tests compare with")


def _skip_or_fail(reason: str) -> NoReturn:
    if os.environ.get("SLMTOK_REQUIRE_SHARED") == "1":
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)


def tiktoken_cache() -> Path:
    """The folder of rank files, under the names that tiktoken gives them."""
    folder = shared_folder() / "data" / "tiktoken-cache"
    if not folder.is_dir():
        missing(str(folder))
    return folder


def corpus_documents(name: str) -> list[str]:
    """The texts of a corpus, one a record."""
    packed = _packed(name)
    zstandard = peer("zstandard")
    with packed.open("rb") as file:
        lines = zstandard.ZstdDecompressor().stream_reader(file).read().split(b"\n")
    return [json.loads(line)["text"] for line in lines if line]


def corpus_path(name: str) -> Path:
    """A plain text file with all texts of a corpus, a line feed between them."""
    packed = _packed(name)
    # The size in the name makes a changed corpus a new file.
    folder = Path(tempfile.gettempdir()) / f"slmtok-shared-{os.getuid() if sys.platform != 'win32' else 0}"
    path = folder / f"{name}-{packed.stat().st_size}" / f"{name}.txt"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write("\n".join(corpus_documents(name)).encode())
        Path(file.name).replace(path)
    return path


def _packed(name: str) -> Path:
    path = shared_folder() / "data" / "corpora" / f"{name}.jsonl.zst"
    if not path.is_file():
        missing(str(path))
    return path
