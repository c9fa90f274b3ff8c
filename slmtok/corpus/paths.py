"""From what a user names (files, folders, globs, `-`) to the files themselves, in an order that does not change.

A folder gives every regular file below it, hidden ones left out; one that `datasets` has saved is one source,
`hf:FOLDER`, and every other name that begins with `hf:` stays as it is. Folders and globs are sorted by path;
arguments keep their order, and a file named two times is read two times.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from slmtok.errors import MissingInput, WrongType

STDIN = "-"
"""The path that means standard input."""
HUGGING_FACE = "hf:"
"""How the name of a Hugging Face data set begins."""
_TEXTS = "to train on texts instead of files: slmtok.Texts(texts)"
_CHECK = "check the name; paths are relative to the working folder"


def expand(corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files that `corpus` names, sorted within each argument.

    Raises `MissingInput` for a path that does not exist, a glob without a match, a folder without files.
    """
    arguments = [corpus] if isinstance(corpus, (str, os.PathLike)) else list(corpus)
    if not arguments:
        raise MissingInput("the list of paths is empty", fix="name a file, a folder or a glob")
    files: list[str] = []
    for index, argument in enumerate(arguments, 1):
        if not isinstance(argument, (str, os.PathLike)):
            raise WrongType(
                f"corpus path {index} is {type(argument).__name__}, not str or Path",
                fix=_TEXTS,
            )
        files.extend(_expand_one(os.fspath(argument), index))
    return files


def _expand_one(path: str, index: int) -> list[str]:
    if path == STDIN or path.startswith(HUGGING_FACE):
        return [path]
    if is_saved(path):
        return [HUGGING_FACE + path]
    if _looks_like_text(path):
        raise MissingInput(
            f"no file {path[:40] + '…'!r}",
            where=f"argument {index}; it looks like text, not like a path",
            fix=_TEXTS,
        )
    if Path(path).is_dir():
        found = _walk(path)
        if not found:
            raise MissingInput(
                f"the folder {path!r} holds no file",
                where=f"argument {index}; hidden files are left out",
                fix="name another folder, or the files",
                path=path,
            )
        return found
    if Path(path).exists():
        return [path]
    if glob.has_magic(path):
        matches = glob.glob(path, recursive=True)  # noqa: PTH207  (takes absolute and relative patterns alike)
        found = sorted(match for match in matches if Path(match).is_file())
        if found:
            return found
    raise _missing(path, index)


def is_saved(path: str) -> bool:
    """Whether a folder holds a data set, or several splits of one, as `datasets` saves them to disk."""
    return any(
        all(os.path.isfile(os.path.join(path, name)) for name in names)  # noqa: PTH113, PTH118  (long texts are fine)
        for names in (("dataset_info.json", "state.json"), ("dataset_dict.json",))
    )


def _looks_like_text(path: str) -> bool:
    return (
        "\n" in path
        or "\0" in path
        or len(path) > 4096
        or any(len(os.fsencode(part)) > 255 for part in Path(path).parts)
    )


def _walk(folder: str) -> list[str]:
    found: list[str] = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found.extend(
            os.path.join(root, name)  # noqa: PTH118  (os.walk gives strings, by the hundred thousand)
            for name in names
            if not name.startswith(".")
        )
    return sorted(path for path in found if Path(path).is_file())


def _missing(path: str, index: int) -> MissingInput:
    """The error for a path without a match, with what its folder has and the glob that would match."""
    magic = glob.has_magic(path)
    fact = f"no file matches {path!r}" if magic else f"no file or folder {path!r}"
    folder = Path(path).parent
    fix = _TEXTS if " " in path and not magic and os.sep not in path and not Path(path).suffix else _CHECK
    if not folder.is_dir():
        where = f"argument {index}; there is no folder {str(folder)!r}"
        return MissingInput(fact, where=where, fix=fix, path=path)
    endings = Counter(_ending(entry.name) for entry in folder.iterdir() if entry.is_file())
    if not endings:
        return MissingInput(fact, where=f"argument {index}; the folder {folder}/ has no files", fix=fix, path=path)
    ending, number = min(endings.items(), key=lambda item: (-item[1], item[0]))
    files = "1 file" if number == 1 else f"{number} files"
    where = f"argument {index}; the folder {folder}/ has {files} ending {ending}" if ending else f"argument {index}"
    if magic and ending:
        fix = f"'{folder}/*{ending}'"
    return MissingInput(fact, where=where, fix=fix, path=path)


def _ending(name: str) -> str:
    """The suffixes by which formats are told: at most two."""
    return "".join(Path(name).suffixes[-2:])
