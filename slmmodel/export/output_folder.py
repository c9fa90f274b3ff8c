"""The folder of an export: what may be replaced, and what a killed export left. Imports no torch."""

from __future__ import annotations

import shlex
from contextlib import suppress
from itertools import count
from pathlib import Path

from slmmodel.errors import Argument, MissingInput, OfCommand, OutputExists, SlmmodelError
from slmmodel.folder_lock import locked, refuse_broken_link
from slmmodel.json_files import FaultError, read_object

RECEIPT_FILE = "receipt.json"
REPLACED = "replaced"


def _remove_left(folder: Path) -> None:
    """Removes what an export left that was killed behind its renaming; nothing while another one is at work.

    One that differs from its model stays.
    """
    import shutil

    part = part_of(folder)
    if part.is_dir() and not part.is_symlink():
        with suppress(SlmmodelError, OSError):
            with locked(part):
                shutil.rmtree(part / REPLACED, ignore_errors=True)
            part.rmdir()


def part_of(folder: Path) -> Path:
    """The folder in which an export is written before it is renamed."""
    return folder.with_name(folder.name + ".part")


def check_folder(folder: Path, *, force: bool) -> None:
    """Raises `OutputExists` for a folder that may not be replaced, and `MissingInput` for one that has no parent.

    Beside a complete export, what a killed one left is removed.
    """
    is_empty = folder.is_dir() and not any(folder.iterdir())
    other = next(name for number in count(2) if not Path(name := f"{folder}-{number}").exists())
    elsewhere = OfCommand(f"-o {shlex.quote(other)}", f"folder={other!r}")
    if folder.is_symlink() or (folder.exists() and not is_empty and not (folder / RECEIPT_FILE).is_file()):
        # Replacing removes the folder, so it must be one of ours.
        what = "is a file, and an export is a folder" if folder.is_file() else "exists and is not an export"
        raise OutputExists(f"output {str(folder)!r} {what}", fix=(elsewhere,), path=str(folder))
    if folder.exists() and not is_empty and not force:
        _remove_left(folder)
        fix = (elsewhere, ", or ", Argument("force", True), " to replace it")
        raise OutputExists(f"output {str(folder)!r} exists", fix=fix, path=str(folder))
    if folder.exists() and (others := _others(folder)):
        raise OutputExists(
            f"the export {str(folder)!r} holds other files, such as {others[0]!r}",
            limit="the files that its receipt.json names are replaced",
            fix=(elsewhere,),
            path=str(folder),
        )
    if not folder.parent.is_dir():
        refuse_broken_link(folder.parent)
        fact = f"no folder {str(folder.parent)!r} for the output {folder.name!r}"
        made = f"import pathlib; pathlib.Path({str(folder.parent)!r}).mkdir(parents=True)"
        mkdir = OfCommand(f"mkdir -p {shlex.quote(str(folder.parent))}", made)
        raise MissingInput(fact, fix=(mkdir,), path=str(folder.parent))


def _others(folder: Path) -> list[str]:
    """What an export holds beside its files; all where its receipt cannot be read."""
    own = {RECEIPT_FILE}
    with suppress(OSError, FaultError, TypeError):
        own.update(read_object(folder / RECEIPT_FILE).get("files", ()))
    return sorted(path.name for path in folder.iterdir() if path.name not in own or path.is_dir())
