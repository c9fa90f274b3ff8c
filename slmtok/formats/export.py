"""Exports: written to a temporary folder, read back by the target library, ids compared on every probe, then moved.

A failure leaves the output folder unchanged.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from slmtok import atomic
from slmtok.calls import explains_calls, help_call
from slmtok.checks import check_output_name, check_path, check_type, refuse_home
from slmtok.errors import Inexpressible, OptionError, OutputExists, Setting, SlmtokError, suggestion, value_text
from slmtok.file_kinds import is_run
from slmtok.files import free_name, resolved
from slmtok.foreign_options import unknown_format
from slmtok.formats import hf, tiktoken, verification
from slmtok.formats.base import Encode, Target, module
from slmtok.formats.verification import RECEIPT, compare, receipt, receipt_bytes
from slmtok.tokenizer import Tokenizer, check_tokenizer, refuse_swapped

if TYPE_CHECKING:
    from slmtok.aliases import Progress
    from slmtok.formats.verification import Effort
    from slmtok.options import ReadOptions

_Path = str | os.PathLike[str]
TARGETS: Mapping[str, Target] = {target.name: target for target in (hf.TARGET, tiktoken.TARGET)}
"""The formats that `slmtok export` writes. To add one: a file with a `Target`, and its name here."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@explains_calls
def export(
    tokenizer: Tokenizer,
    to: str,
    folder: _Path,
    *,
    name: str | None = None,
    verify_on: _Path | Sequence[_Path] = (),
    read: ReadOptions | None = None,
    verify: bool = True,
    force: bool = False,
    effort: Effort | None = None,
    progress: Progress | None = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Writes `tokenizer` into `folder` for another library; returns the payload of the receipt.

    to: a name in `TARGETS`. name: the encoding's name in the library; default: the folder's name. verify_on: files
    whose documents are compared instead of generated text, read with `read`. verify: False writes without comparing.
    settings: further options of the target's files.

    Raises `Inexpressible` before any work, `NotEqual`, `MissingExtra`, `OutputExists`, `UnknownName`, `OptionError`.
    """
    fix = f"export(tok, {str(tokenizer)!r}, {str(folder)!r})"
    refuse_swapped(tokenizer, to, "export(tokenizer, to, folder)", fix)
    check_tokenizer(tokenizer)
    target = TARGETS.get(to) if isinstance(to, str) else None
    if target is None:
        error = unknown_format("export format", to, TARGETS)
        if str(folder) in TARGETS:
            error.fix = f"format and folder the other way round: {str(folder)!r}, {to!r}"
        raise error
    place = _checked_place(folder)
    name = check_name(name or re.sub(r"[^A-Za-z0-9_.-]+", "-", resolved(place).name).strip("-._") or to)
    target.check(tokenizer)
    _check_settings(settings, target)
    files = target.files(tokenizer, name, **(settings or {}))
    check_folder(place, [*files, RECEIPT], force=force)
    if verify:
        module(target.library)
        chosen = verification.probes(tokenizer, verify_on, read, effort or verification.FULL)
    # The working folder "." has no name.
    named = place if place.name else place / "export"
    atomic.remove_stale(named)
    temporary = atomic.temporary_path(named)
    try:
        write_files(temporary, files)
        compared = None
        if verify:
            encode = _open(tokenizer, target, temporary, name)
            compared = compare(tokenizer, encode, chosen, library=target.library, progress=progress)
        found = receipt(tokenizer, "export", target, compared, files, generated=not verify_on, notes=target.notes)
        write_files(temporary, {RECEIPT: receipt_bytes(found)})
        with atomic.locked_folder(resolved(place).parent):
            # Another process may have written the same export meanwhile.
            check_folder(place, [*files, RECEIPT], force=force)
            _move(temporary, place, [*files, RECEIPT])
    finally:
        with suppress(OSError):
            shutil.rmtree(temporary)
    return found


def _checked_place(folder: object) -> Path:
    check_output_name(name := check_path(folder))
    return Path(name)


def _check_settings(settings: object, target: Target) -> None:
    check_type("settings", settings, Mapping, "leave settings out")
    known = signature(target.files).parameters
    if any(each.kind is Parameter.VAR_KEYWORD for each in known.values()):
        return
    for each in sorted({*cast("Any", settings or ())} - known.keys(), key=str):
        names = [*known][2:]
        meant = suggestion(str(each), names)
        raise OptionError(
            f"settings has {each!r}, which {target.name!r} does not take"
            + (f"; did you mean {meant!r}?" if meant else ""),
            limit=f"settings of {target.name}: {', '.join(names) or 'none'}",
            fix=f"settings={{{meant!r}: {value_text(cast('Any', settings)[each])}}}"
            if meant
            else help_call(target.files),
        )


def _open(tokenizer: Tokenizer, target: Target, folder: Path, name: str) -> Encode:
    """The export in the other library. Raises `Inexpressible` if that does not load it."""
    try:
        return target.open(folder, name)
    except SlmtokError:
        raise
    except Exception as error:
        raise Inexpressible(
            f"{target.library} does not load the export: {error}",
            where=f"export to {target.name}; nothing was written",
            limit=f"a pattern that the library accepts; this one is {tokenizer.pattern.regex!r}",
            fix="train with a named pattern (slm, gpt2, cl100k, o200k)",
        ) from error


def check_name(name: str) -> str:
    """`name`, if it is valid for a file and an encoding. Raises `OptionError`."""
    check_type("name", name, str, f"name={str(name)!r}")
    if not _NAME.fullmatch(name):
        raise OptionError(
            (Setting("name", name), " is not a valid name"),
            limit="a letter or digit, then letters, digits, '_', '.' and '-'",
            fix=(Setting("name", "mine"),),
            option="name",
        )
    return name


# --- the folder ---------------------------------------------------------------------------------------------------


def check_folder(place: Path, names: Sequence[str], *, force: bool) -> None:
    """Raises `OutputExists` if the folder `place` holds one of the files, a run or packed data; other files stay."""
    refuse_home(place)
    if place.is_dir():
        if is_run(place):
            # transformers would read the tokenizer of the export there, and slm that of the run.
            raise OutputExists(
                f"output {str(place)!r} is a run, and not an export",
                fix=("name another ", Setting("output"), f": {free_name('export')}"),
                path=str(place),
            )
        from slmtok.shards.format import MANIFEST

        if (place / MANIFEST).exists():
            # Packed data beside an export would be taken for the export.
            fix = ("name another ", Setting("output"))
            raise OutputExists(f"output {str(place)!r} holds {MANIFEST!r}", fix=fix, path=str(place / MANIFEST))
        there = [name for name in names if (place / name).exists()]
        if there and not force:
            raise OutputExists(
                f"output {str(place)!r} holds {there[0]!r}",
                fix=(Setting("force", True), " to replace it, or name another ", Setting("output")),
                path=str(place / there[0]),
            )
        return
    if place.exists():
        raise OutputExists(
            f"output {str(place)!r} is a file, and a folder is written",
            fix=("name another ", Setting("output")),
            path=str(place),
        )
    atomic.check_outputs(place)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files, path -> content, into a folder, which is created. Raises `DiskFull`, `Unreadable`."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(path, content, force=True)


def _move(temporary: Path, place: Path, names: Sequence[str]) -> None:
    """Moves the folder, or its files into an existing one, whose receipt is deleted first.

    Raises `Unreadable` where another program has removed some of the files, and where one cannot be replaced.
    """
    if not all((temporary / name).is_file() for name in names):
        raise atomic.removed_error(place)
    if not place.exists():
        temporary.rename(place)
        return
    target = place / RECEIPT
    try:
        target.unlink(missing_ok=True)
        for target in (place / name for name in names):
            target.parent.mkdir(parents=True, exist_ok=True)
            (temporary / target.relative_to(place)).replace(target)
    except OSError as error:
        # It names the temporary file, which is gone when the message is read.
        raise atomic.write_error(error, target, partial=True) from error
