"""From path arguments (files, folders, globs, `-`) to files, in a reproducible order.

A folder stands for every regular file below it that is not hidden, also through links to folders; a folder that
`datasets` has saved is one source, `hf:FOLDER`, and every other name that begins with `hf:` is kept. Folders and globs
are sorted by path; arguments keep their order; `find` refuses a file that is named twice.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NoReturn

from slmtok.checks import are_ids, expanded_home
from slmtok.corpus import globs
from slmtok.corpus.globs import matches
from slmtok.errors import MissingInput, Setting, Unreadable, WrongType
from slmtok.files import local_path, missing_input, refuse_text, similar_file
from slmtok.options import OTHER_DOMAIN, ReadOptions
from slmtok.record_texts import texts_of_rows

STDIN = "-"
"""The path that means standard input."""
STDIN_DEVICE = "/dev/stdin"
HUGGING_FACE = "hf:"
"""Prefix of the name of a Hugging Face data set."""
MAX_SHOWN = 120
"""Characters of a path that does not exist; a longer one is probably text."""
_USUAL = (".txt", ".md", ".jsonl", ".csv", ".tsv", ".parquet", ".counts")
"""Suffixes that are suggested for a file that does not exist; `.json` is mostly a tokenizer or a result."""
_NO_TEXTS = (".counts", ".json")
"""Endings of files that are mostly made of texts, and beside these."""
_MAX_LISTED = 1000
"""Files below a folder without files that are looked at for their suffixes."""
_TEXT_FIX = "for text itself name - and pipe it in; in Python slmtok.Texts(texts)"
_TEXTS_FIX = "to train on texts instead of files: slmtok.Texts(texts)"
_OTHER_ENDING = "name files that are there, by their own ending"
_MAX_KINDS = 4
"""Endings of files that an error lists."""
_CHECK_FIX = "check the name; paths are relative to the working folder"


def expand(
    corpus: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], exclude: Sequence[str] | None = None
) -> list[str]:
    """The files that `corpus` names, sorted within each argument, with those that the globs `exclude` will leave out.

    A link that leads nowhere may be among these; without `exclude` none is left out.

    Raises `MissingInput` for a path that does not exist, a glob without a match, a folder without files.
    """
    arguments = [corpus] if isinstance(corpus, (str, os.PathLike)) else list(corpus)
    if not arguments:
        raise MissingInput("the list of paths is empty", fix="name a file, a folder or a glob")
    for index, argument in enumerate(arguments, 1):
        if not isinstance(argument, (str, os.PathLike)):
            rows = texts_of_rows(argument)
            fix = f"slmtok.Texts({rows})" if rows else _TEXTS_FIX
            fix = "slmtok.Texts([tok.decode(ids)]) for the text of ids" if are_ids([argument]) else fix
            raise WrongType(f"corpus path {index} is {type(argument).__name__}, not str or Path", fix=fix)
    named = {os.fspath(argument) for argument in arguments}
    return [file for argument in arguments for file in _expand_one(os.fspath(argument), exclude, named)]


def _expand_one(path: str, exclude: Sequence[str] | None, named: Container[str]) -> list[str]:
    if not path:
        raise MissingInput("a path is empty", fix="name a file, a folder or a glob", path=path)
    if path == STDIN_DEVICE:
        return [STDIN]
    if path == STDIN or path.startswith(HUGGING_FACE):
        return [path]
    if is_saved(path):
        return [HUGGING_FACE + path]
    refuse_text(path, _TEXTS_FIX)
    if Path(path).is_dir():
        found = _regular(_listed(globs.paths_below, path), exclude)
        if not found:
            raise MissingInput(
                f"the folder {path!r} holds no file",
                where="hidden files are skipped",
                fix="name another folder, or the files",
                path=path,
            )
        return found
    if Path(path).exists():
        return [path]
    if glob.has_magic(path):
        found = _regular(_glob(path), exclude)
        if found:
            return found
    raise _missing(path, named)


def is_saved(path: str) -> bool:
    """Whether a folder holds a data set, or its splits, as `datasets` saves them."""
    return any(
        all(os.path.isfile(os.path.join(path, name)) for name in names)  # noqa: PTH113, PTH118  (long texts are fine)
        for names in (("dataset_info.json", "state.json"), ("dataset_dict.json",))
    )


def _glob(pattern: str) -> list[str]:
    return _listed(globs.expand, pattern)


def _listed(list_paths: Callable[[str], Iterable[str]], path: str) -> list[str]:
    """The paths that a folder or a glob stands for."""
    try:
        return [*list_paths(path)]
    except OSError as error:
        _refuse_folder(error)


def _regular(paths: Iterable[str], exclude: Sequence[str] | None) -> list[str]:
    """The files among some paths, in order; folders are none.

    Raises `MissingInput` for a link to what does not exist, such as a disk that is not mounted, and `Unreadable` for a
    pipe, a socket or a device: the text would be missing from the corpus. One that `exclude` matches stays, to be left
    out.
    """
    found = []
    for path in sorted(paths):
        if os.path.isfile(path):  # noqa: PTH113  (a corpus may have 100,000 files)
            found.append(path)
        elif not os.path.isdir(path):  # noqa: PTH112
            if any(matches(path, glob) for glob in exclude or ()):
                found.append(path)
                continue
            is_there = os.path.exists(path)  # noqa: PTH110
            error = _not_a_file(path) if is_there else missing_input(path)
            if exclude is not None:
                remedy = () if is_there else ("make the link again, or ",)
                error.fix = (*remedy, Setting("exclude", Path(path).name), " leaves it out")
            raise error
    return found


def _not_a_file(path: str) -> Unreadable:
    return Unreadable(
        f"{path!r} is a pipe, a socket or a device, not a file",
        where=str(Path(path).parent),
        limit="of a folder or glob, files are read; a pipe is read where it is named",
        fix="move it elsewhere",
        path=path,
    )


def _refuse_folder(error: OSError) -> NoReturn:
    """Raises `Unreadable` for a folder that cannot be listed: its files would be missing from the corpus."""
    path = os.fspath(error.filename)
    raise Unreadable(
        f"cannot list the folder {path if len(path) <= MAX_SHOWN else path[:MAX_SHOWN] + '…'!r}: {error.strerror}",
        where=path,
        limit="every folder of the corpus is read",
        fix="make it readable, or name the folders beside it",
        path=path,
        os_error=error.errno,
    ) from None


def _missing(path: str, named: Container[str]) -> MissingInput:
    """The error for a path without a match. It says what the folder holds, and suggests a glob that matches.

    named: all paths of the corpus, of which none is suggested.
    """

    def is_other(near: Path) -> bool:
        return near.exists() and str(near) not in named

    magic = glob.has_magic(path)
    shown = path if len(path) <= MAX_SHOWN else path[: MAX_SHOWN - 1] + "…"
    fact = f"no file matches {shown!r}" if magic else f"no file or folder {shown!r}"
    is_told_apart = local_path(path) or expanded_home(path) or Path(path).is_symlink()
    if re.match("[a-z0-9]{2,}://", path) or is_told_apart:
        return missing_input(path, is_corpus=True)
    listed = globs.listed_globs(path) if "{" in path else []
    if len(listed) > 1 and (matching := [each for each in listed if _glob(each)]):
        limit = "a shell lists what is in braces, where they are not in quotes"
        return MissingInput(fact, limit=limit, fix=f"name {shlex.join(matching)}", path=path)
    folder = Path(path).parent
    folders = _folders(folder)
    place = "the working folder" if folder == Path() else f"the folder {folder}/"
    has = "has"
    if folders != [folder]:
        place, has = f"the folders that {str(folder)!r} matches", "have"
    fix = _TEXT_FIX if " " in path and not magic and os.sep not in path and not Path(path).suffix else _CHECK_FIX
    if not folders:
        fix = (not magic and similar_file(path, is_other)) or fix
        if re.fullmatch(r"[\w.-]+/[\w.-]+", path) and not Path(path).suffix:
            fix += f"; hf:{path} is a data set of the Hugging Face Hub"
        return MissingInput(fact, where=_no_folder(folder), fix=fix, path=path)
    if not magic and (meant := similar_file(path, is_other)):
        return MissingInput(fact, where=place, fix=meant, path=path)
    endings = Counter(_endings(folders))
    if magic and not endings and (below := Counter(islice(_endings(_folders_in(folders)), _MAX_LISTED))):
        place, has = "its folders" if folder == Path() else f"the folders in {folder}/", "have"
        folder, endings = folder / "**", below
    if not endings:
        return MissingInput(fact, where=f"{place} {has} no files", fix=fix, path=path)
    wanted = Path(path).suffix
    best, is_sure = _nearest_ending(wanted, endings)
    if magic and not is_sure:
        where = f"{place} {has} {_kinds(endings)}"
        has_texts = bool(wanted) and endings.keys() != {".counts"}
        return MissingInput(fact, where=where, fix=_OTHER_ENDING if has_texts else fix, path=path)
    if best is None or (not magic and not wanted):
        return MissingInput(fact, where=place, fix=fix, path=path)
    # The name before the ending is kept where files have it.
    meant = path.removesuffix(wanted) + best if Path(path).stem != "*" else ""
    named = meant if meant and _glob(meant) else f"{folder}/*{best}"
    fix = repr(named) if magic else fix
    return MissingInput(fact, where=f"{place} {has} {_kinds({best: endings[best]})}", fix=fix, path=path)


def _nearest_ending(wanted: str, endings: Mapping[str, int]) -> tuple[str | None, bool]:
    """The ending of files of a corpus that is nearest to the one of a path, and whether it alone can be meant."""
    from difflib import get_close_matches

    near = [ending for ending in endings if ending.lower() == wanted.lower()] or get_close_matches(wanted, endings, n=1)
    readable = {*_USUAL, wanted.lower()}
    kept = [ending for ending in endings if readable & {*Path("x" + ending.lower()).suffixes}]
    # Those of the name that was meant come first, then the most frequent.
    best = min(kept, key=lambda each: (not each.endswith(wanted), each not in near, -endings[each], each), default=None)
    if best is None or not wanted:
        # A glob without a suffix says nothing about one.
        return best, False
    n_texts = sum(number for ending, number in endings.items() if not ending.endswith(_NO_TEXTS))
    is_most = 2 * endings[best] > n_texts and not best.endswith(_NO_TEXTS)
    return best, best.endswith(wanted) or best in near or is_most


def _kinds(endings: Mapping[str, int]) -> str:
    """The endings of files with their numbers, the most frequent first."""
    counted = sorted(endings.items(), key=lambda item: (-item[1], item[0]))
    kinds = [
        f"{number:,} file{'s' * (number != 1)} {f'ending {ending}' if ending else 'without an ending'}"
        for ending, number in counted[:_MAX_KINDS]
    ]
    others = sum(number for _, number in counted[_MAX_KINDS:])
    return ", ".join([*kinds, *[f"{others:,} others"] * (others > 0)])


def _folders(folder: Path) -> list[Path]:
    """The folder of a path, or the folders that it matches where it is a glob; [] where there is none."""
    if folder.is_dir() or not glob.has_magic(str(folder)):
        return [folder] * folder.is_dir()
    return [Path(each) for each in sorted(_glob(str(folder))) if os.path.isdir(each)]  # noqa: PTH112


def _no_folder(folder: Path) -> str:
    """That there is no such folder: the first part of the path that names none, or matches none."""
    parents = (each for each in [*reversed(folder.parents), folder] if each != Path())
    lost = next((str(each) for each in parents if not _folders(each)), str(folder))
    return f"no folder matches {lost!r}" if glob.has_magic(lost) else f"there is no folder {lost!r}"


def _folders_in(folders: Iterable[Path]) -> Iterator[Path]:
    with suppress(OSError):
        yield from (each for folder in folders for each in sorted(folder.iterdir()) if each.is_dir())


def _endings(folders: Iterable[Path]) -> Iterator[str]:
    """The endings of the files in some folders."""
    with suppress(OSError):
        yield from (_ending(entry.name) for folder in folders for entry in folder.iterdir() if entry.is_file())


def _ending(name: str) -> str:
    """The suffixes that name format and compression: at most two."""
    return "".join(Path(name).suffixes[-2:])


def domain_of(options: ReadOptions, source: str) -> int:
    """The index in `options.domain_names` of a file's domain; 0 without domains."""
    for index, domain in enumerate(options.domains.values()):
        if any(matches(source, glob) for glob in domain):
            return index
    return options.domain_names.index(OTHER_DOMAIN) if options.domains else 0
