"""Exports that are proven or not written: made in a folder beside, read back by the library they are for, compared.

Ids must be equal on every probe (`slmtok.formats.probes`); then the files take their place and the receipt with them.
Whatever fails leaves the place as it was.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmtok import atomic
from slmtok.errors import Inexpressible, InvalidOption, OutputExists, SlmtokError, unknown_name
from slmtok.formats import probes
from slmtok.formats.base import Target, module
from slmtok.formats.equality import Compared, compare
from slmtok.formats.receipt import EXPORT, dumped, receipt
from slmtok.formats.registry import TARGETS

if TYPE_CHECKING:
    from slmtok.aliases import Progress
    from slmtok.corpus import ReadOptions
    from slmtok.formats.probes import Effort
    from slmtok.tokenizer import Tokenizer

_Path = str | os.PathLike[str]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def export(
    tokenizer: Tokenizer,
    to: str,
    folder: _Path,
    *,
    name: str | None = None,
    verify_on: Sequence[_Path] = (),
    read: ReadOptions | None = None,
    unverified: bool = False,
    force: bool = False,
    effort: Effort | None = None,
    progress: Progress | None = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Writes `tokenizer` into `folder` for another library, and gives the receipt.

    to: a name in `TARGETS`. name: what the library calls it, where it asks; else the folder's name. verify_on: files
    whose documents are compared, instead of generated text, and `read` how they are read. unverified: write without
    the library. settings: what the target's files take besides.

    Raises `Inexpressible` before any work, `NotEqual`, `MissingExtra`, `OutputExists`, `UnknownName`, `InvalidOption`.
    """
    target = TARGETS.get(to)
    if target is None:
        raise unknown_name("export format", to, TARGETS)
    place = Path(folder)
    name = checked_name(name or re.sub(r"[^A-Za-z0-9_.-]+", "-", place.resolve().name).strip("-._") or to)
    target.check(tokenizer)
    files = target.files(tokenizer, name, **(settings or {}))
    check_place(place, [*files, EXPORT], force=force)
    if not unverified:
        module(target.library)
        chosen = probes.probes(tokenizer, verify_on, read, effort or probes.FULL)
    # The working folder has no name as it is typed.
    named = place if place.name else place / "export"
    atomic.sweep(named)
    beside = atomic.beside(named)
    try:
        write_files(beside, files)
        compared = None
        if not unverified:
            compared = _verified(tokenizer, target, beside, name, chosen, progress)
        found = _receipt(tokenizer, target, files, compared, generated=not verify_on)
        write_files(beside, {EXPORT: dumped(found)})
        move(beside, place, [*files, EXPORT])
    finally:
        with suppress(OSError):
            shutil.rmtree(beside)
    return found


def _verified(
    tokenizer: Tokenizer, target: Target, folder: Path, name: str, chosen: Any, progress: Progress | None
) -> Compared:
    try:
        encode = target.open(folder, name)
    except SlmtokError:
        raise
    except Exception as error:
        raise Inexpressible(
            f"{target.library} does not load what was written: {error}",
            where=f"export to {target.name}; nothing was written",
            limit=f"the pattern {tokenizer.pattern.regex!r} is what libraries differ in most",
            fix="train with a named pattern (slm, gpt2, cl100k, o200k)",
        ) from error
    return compare(tokenizer, encode, chosen, library=target.library, progress=progress)


def _receipt(
    tokenizer: Tokenizer, target: Target, files: Mapping[str, bytes], compared: Compared | None, *, generated: bool
) -> dict[str, Any]:
    return receipt(
        tokenizer,
        direction="export",
        target=target.name,
        library=target.library,
        library_version=target.library_version(),
        compared=compared,
        text="generated stories" if generated else "files",
        files=files,
        notes=target.notes,
    )


def checked_name(name: str) -> str:
    """`name`, if a file and an encoding can be called so. Raises `InvalidOption`."""
    if not _NAME.fullmatch(name):
        raise InvalidOption(
            f"name={name!r} names no encoding",
            limit="a letter or digit, then letters, digits, '_', '.' and '-'",
            fix="name='mine'",
            option="name",
        )
    return name


# --- the folder ---------------------------------------------------------------------------------------------------


def check_place(place: Path, names: Sequence[str], *, force: bool) -> None:
    """Raises unless these files can be put into the folder `place`, which need not exist; others in it stay."""
    if place.is_dir():
        there = [name for name in names if (place / name).exists()]
        if there and not force:
            raise OutputExists(
                f"output {str(place)!r} holds {there[0]!r}",
                fix="force=True to replace it, or name another output",
                path=str(place / there[0]),
            )
        return
    atomic.check_outputs(place)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files by their path in a folder, which is made. Raises `DiskFull`, `Unreadable`."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(path, content, force=True)


def move(beside: Path, place: Path, names: Sequence[str]) -> None:
    """The whole folder to its place, or its files into the one that is there: the old receipt goes first."""
    if not place.exists():
        beside.rename(place)
        return
    (place / EXPORT).unlink(missing_ok=True)
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (beside / name).replace(place / name)
