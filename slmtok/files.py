"""Reading whole files, and digests of files. Writing is `slmtok.atomic`."""

from __future__ import annotations

import codecs
import errno
import hashlib
import io
import os
import re
import shlex
import stat
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from slmtok.checks import MUST_BE_PATH, can_be_file_name, check_path, expanded_home, is_text, texts_of_one
from slmtok.errors import CorruptFile, MissingInput, SlmtokError, Unreadable
from slmtok.path_arguments import free_name as free_name  # part of this module for its callers
from slmtok.path_arguments import glob_matches, hub_fetch
from slmtok.record_texts import short_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_FILE_BYTES = {
    "tokenizer file": 128 << 20,
    "tokenizer.json": 128 << 20,
    "rank table": 128 << 20,
    "vocab.json": 64 << 20,
    "lock": 256 << 20,
    "manifest": 256 << 20,
    "plan": 256 << 20,
    "journal": 256 << 20,
    "metadata": 16 << 20,
    "receipt": 16 << 20,
    "audit": 16 << 20,
    "certificate": 16 << 20,
    "ablation": 64 << 20,
    "ablation-lock": 1 << 20,
    "passkey": 16 << 20,
    "probe": 16 << 20,
    "prompts": 16 << 20,
    "result": 64 << 20,
    "list of ids": 64 << 20,
}
"""The most bytes of a file of each kind. Those that list the files of a corpus have room for a million of them."""
_BLOCK_BYTES = 1 << 20
NPY_MAGIC, _ZIP_MAGIC = b"\x93NUMPY", b"PK"
_WEB = ("http:", "https:", "ftp:")
_FETCH = {
    **dict.fromkeys(_WEB, "curl -fLo {copy} {address}"),
    "s3:": "aws s3 cp {address} {copy}",
    "gs:": "gcloud storage cp {address} {copy}",
}
"""The command that copies a file here, by the kind of its address. With -f, curl writes no error page as the file."""
_FETCH_FOLDER = {
    "s3:": "aws s3 cp --recursive {address} {copy}",
    "gs:": "mkdir {copy} && gcloud storage rsync --recursive {address} {copy}",
}
"""The same for a folder, whose address ends with a slash."""
_FETCH_GLOB = {
    "s3:": "aws s3 cp --recursive {folder} {copy} --exclude '*' --include {glob}",
    "gs:": "mkdir {copy} && gcloud storage cp {address} {copy}",
}
"""The same for the files of a name with wildcards, which the paths of aws have not."""
_HUB = r"https?://(?:www\.)?(?:huggingface|hf)\.co/"
_FORGE = r"https?://(?:www\.)?(?:github|gitlab)\.com/"
_FILE_PAGES = ((rf"({_HUB}.+?)/blob/(.+)", r"\1/resolve/\2"), (rf"({_FORGE}.+?)/blob/(.+)", r"\1/raw/\2"))
"""Addresses of pages that show a file, and the address of the file itself."""
_REPOSITORY_PAGE = re.compile(rf"({_FORGE}[\w.-]+/([\w.-]+?))(?:\.git)?(?:/(?:-/)?tree/([^/]+)(/.+?)?)?/?")
"""The repository, its name, a branch and a folder in it."""
_DATA_SET_PAGE = re.compile(
    rf"{_HUB}datasets/((?:[\w.-]+/)?(?!(?:tree|viewer)(?:/|$))[\w.-]+)"
    r"(?:/tree/[^/]+|/viewer(?:/([\w.-]+)/([\w.-]+))?)?/?"
)
"""The name, and a configuration and its split."""
_MODEL_PAGE = re.compile(rf"{_HUB}(?!(?:blog|datasets|docs|papers|spaces)/)((?:[\w.-]+/)?[\w.-]+)(?:/tree/[^/]+)?/?")
_LOCAL = "file://"
_ADDRESS = re.compile("([a-z0-9]{2,}:)//?")
_ADDRESS_OF_PATH = re.compile("[a-z0-9]{2,}:(/[^/].*)", re.DOTALL)
"""Such as `file:/tmp/x`, or `hf:/tmp/x`: the kind of an address before a path of this system."""


def read_limited(path: str | os.PathLike[str], kind: str) -> bytes:
    """All bytes of a file of `kind`. Raises `CorruptFile` above its `MAX_FILE_BYTES`, `MissingInput`, `Unreadable`."""
    limit = MAX_FILE_BYTES[kind]
    data = read_file(path, limit + 1)
    if len(data) > limit:
        name = os.fspath(path)
        raise CorruptFile(
            f"{name} is too large for a {kind}",
            where=name,
            limit=f"{limit:,} bytes",
            fix=f"name a {kind}",
            path=name,
        )
    return data


def read_file(path: str | os.PathLike[str], limit: int = -1) -> bytes:
    """A file, or its first `limit` bytes. Raises `MissingInput`, `Unreadable`."""
    with opened(path) as file:
        return file.read() if limit < 0 else read_at_most(file, limit)


def read_at_most(file: BinaryIO, limit: int) -> bytes:
    """The first `limit` bytes of a stream; memory is taken for those that it has, not for the limit."""
    parts, left = list[bytes](), limit
    while left > 0 and (part := file.read(min(left, _PART_BYTES))):
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


_PART_BYTES = 1 << 20
_MAX_NAMED = 3
"""Files that the error for a glob names."""


def load_npy(stream: BinaryIO, path: Path | None = None) -> NDArray[Any]:
    """The array of a .npy file, memory-mapped where `path` names the file.

    Raises `ValueError` with a reason of our own: numpy's would recommend pickle, and its exceptions for a damaged
    header are not documented.
    """
    import numpy as np

    file = stream if stream.seekable() else io.BytesIO(stream.read())
    head = file.read(len(NPY_MAGIC))
    if head.startswith(_ZIP_MAGIC):
        raise ValueError("it is an archive of arrays (.npz), not one array (.npy)")
    if head != NPY_MAGIC:
        raise ValueError("it is not a .npy file" if head else "it is empty")
    file.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array: NDArray[Any] = np.load(path or file, mmap_mode="r" if path else None, allow_pickle=False)
    except OSError:
        raise
    except Exception:
        raise ValueError("it is truncated or damaged, or holds Python objects") from None
    return array


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file open for reading. Raises `MissingInput`, `Unreadable`, also while it is read."""
    name = check_path(path)
    if not can_be_file_name(name):
        raise missing_input(name)
    refuse_text(name)
    try:
        with Path(name).open("rb") as file:
            yield file
    except SlmtokError:
        raise
    except FileNotFoundError:
        raise missing_input(name) from None
    except OSError as error:
        raise unreadable(name, error) from error


def refuse_text(path: str, fix: str | None = None) -> None:
    """Raises `MissingInput` for a path that looks like text, where no file has this name."""
    looks_so = is_text(path) or "\n" in path or "\0" in path
    looks_so = looks_so or any(len(part.encode(errors="replace")) > 255 for part in Path(path).parts)
    if looks_so and not os.path.exists(path):  # noqa: PTH110  (false for names that the system refuses)
        raise MissingInput(
            f"no file {path[:40] + '…'!r}",
            where=MUST_BE_PATH,
            fix=fix or f"import pathlib; pathlib.Path({free_name('text.txt')!r}).write_text(text)  # name this file",
        )


def unreadable(path: str, error: OSError) -> Unreadable:
    """The error for a file that cannot be read."""
    if error.errno == errno.EISDIR:
        fact = f"{path!r} is a folder, not a file"
        return Unreadable(fact, where=path, fix="name a file in it", path=path, os_error=error.errno)
    reason = error.strerror or str(error)
    fact = f"cannot read {path!r}: {reason}"
    return Unreadable(fact, where=path, fix="name a readable file", path=path, os_error=error.errno)


def resolved(path: str | os.PathLike[str]) -> Path:
    """The path without symbolic links. Raises `Unreadable` for links that lead back to themselves.

    Before 3.13, `Path.resolve` of Python raises `RuntimeError` for them; later it leaves them as they are.
    """
    place = Path(path)
    for each in (place, *place.parents):
        if each.is_symlink() and _is_loop(each):
            raise Unreadable(
                f"{str(each)!r} is a symbolic link that leads back to itself",
                where=f"it is a link to {str(each.readlink())!r}",
                fix="remove the link, or put the file or folder itself in its place",
                path=str(each),
            )
    return Path(os.path.realpath(place))


def _is_loop(link: Path) -> bool:
    try:
        link.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def local_path(path: str) -> str | None:
    """The path that exists and that an address `file://...`, or a path of Windows, means; None for others."""
    if (address := _ADDRESS_OF_PATH.fullmatch(path)) and os.path.lexists(address[1]):
        return address[1]
    host = path.removeprefix(_LOCAL).removeprefix("localhost")
    local = host if path.startswith(_LOCAL) else path.replace("\\", "/")
    return local if local != path and os.path.lexists(local) else None


def missing_input(path: str | os.PathLike[str], *, is_corpus: bool = False) -> MissingInput:
    """The error for a file that does not exist. is_corpus: whether a data set may be named in its place."""
    if local := local_path(str(path)):
        is_address = str(path).startswith(_LOCAL) or _ADDRESS.match(str(path)) is not None
        fact = f"{str(path)!r} is an address" if is_address else f"no file {str(path)!r}: '/' divides folders here"
        return MissingInput(fact, limit="a path of this system", fix=repr(local), path=str(path), local_path=local)
    if address := _ADDRESS.match(str(path)):
        # `Path` leaves one slash of two; before a folder of this system one was given.
        rest = str(path)[address.end() :]
        is_path = address[1] not in _FETCH and os.path.isdir(f"/{rest.partition('/')[0]}")  # noqa: PTH112
        name = f"{address[1]}{'/' if is_path else '//'}{rest}"
        return _page_error(str(path), name, is_corpus) or _address_error(str(path), name, address[1])
    folder = Path(path).parent
    if not str(path):
        return MissingInput("the name of a file is empty", fix="name a file", path="")
    if str(path) == "-":
        fact = "'-' stands for stdin, which is not read here"
        return MissingInput(fact, fix="write it to a file, and name that", path="-")
    if Path(path).is_symlink() and not Path(path).exists():
        target = os.readlink(path)  # noqa: PTH115  (as it is written)
        fact = f"{str(path)!r} is a link to {target!r}, which does not exist"
        return MissingInput(fact, fix="name a file, or make the link again", path=str(path))
    if expanded := expanded_home(str(path)):
        fact, name = f"no file {str(path)!r}: '~' is not expanded", Path(path).name
        if not (os.path.lexists(expanded) or glob_matches(expanded)):
            near = f"name {name!r}" if Path(name).exists() else similar_file(expanded) or "check the name"
            where = f"the home folder is {str(Path.home())!r}, and {expanded!r} does not exist either"
            return MissingInput(fact, where=where, fix=near, path=str(path))
        return MissingInput(fact, fix=repr(expanded), path=str(path))
    if Path(path).is_dir():
        return MissingInput(f"{str(path)!r} is a folder, not a file", fix="name a file in it", path=str(path))
    if found := glob_matches(str(path)):
        listed = ", ".join(map(repr, found[:_MAX_LISTED])) + ", ..." * (len(found) > _MAX_LISTED)
        number = "1 file" if len(found) == 1 else f"{len(found)} files"
        where = f"it is a glob that matches {number}, and a file is named here"
        return MissingInput(f"no file {str(path)!r}", where=where, fix=f"name {listed}", path=str(path))
    return MissingInput(
        f"no file {str(path)!r}",
        where=f"the folder {str(folder)!r}" + ("" if folder.is_dir() else " does not exist either"),
        fix=similar_file(path) or "check the name; paths are relative to the working folder",
        path=str(path),
    )


def _page_error(path: str, address: str, is_corpus: bool) -> MissingInput | None:
    """The error for the address of a page about a data set, a model or a repository; None for another address.

    The page itself is HTML, and no copy of it is meant.
    """
    page = re.split("[?#]", address)[0]
    if found := _DATA_SET_PAGE.fullmatch(page):
        fact = f"{address!r} is the page of a data set"
        name = f"hf:{found[1]}" + (f":{found[2]}@{found[3]}" if found[2] else "")
        if is_corpus:
            return MissingInput(
                fact, limit="files, or a data set by its name", fix=repr(name), path=path, local_path=name
            )
        return MissingInput(fact, fix=f"name a file; where text is read, {name} names the data set", path=path)
    if (found := _MODEL_PAGE.fullmatch(page)) and is_corpus:
        fix = "name text: files, or a data set as hf:NAME"
        return MissingInput(f"{address!r} is the page of a model", fix=fix, path=path)
    if found:
        fetch, copy = hub_fetch(found[1])
        fact, what = f"{address!r} is the page of a model, and only files are read", "its tokenizer"
    elif found := _REPOSITORY_PAGE.fullmatch(page):
        folder, branch = free_name(found[2]), f"-b {shlex.quote(found[3])} " if found[3] else ""
        fetch = f"git clone --depth 1 {branch}{shlex.quote(found[1])} {shlex.quote(folder)}"
        copy = folder + (found[4] or "")
        fact, what = f"{address!r} is the page of a repository, and only files are read", "the repository"
    else:
        return None
    fix = f"fetch {what} first: {fetch} # and name {copy}"
    return MissingInput(fact, fix=fix, path=path, address=address, fetch=fetch, copy=copy)


def _address_error(path: str, address: str, kind: str) -> MissingInput:
    """The error for an address in the place of a file: its fix copies the file or the folder to a name not in use."""
    is_folder = address.endswith("/")
    noun, commands = ("folder", _FETCH_FOLDER) if is_folder else ("file", _FETCH)
    if kind in _FETCH_GLOB and (glob := re.fullmatch(r"([^*?[]*/)([^/]*[*?[].*)", address)):
        return _glob_error(path, address, glob, _FETCH_GLOB[kind])
    place = re.split("[?#]", address)[0] if kind in _WEB else address
    copy = free_name(place.rstrip("/").rpartition("/")[2])
    fact = f"{address!r} is an address, and only files are read"
    if kind not in commands:
        return MissingInput(fact, fix=f"fetch the {noun} first, and name the copy", path=path)
    file = next((re.sub(shown, held, address) for shown, held in _FILE_PAGES if re.fullmatch(shown, address)), address)
    fetch = commands[kind].format(address=shlex.quote(file), copy=shlex.quote(copy))
    fix = f"fetch the {noun} first: {fetch} # and name {copy}"
    return MissingInput(fact, fix=fix, path=path, address=address, fetch=fetch, copy=copy)


def _glob_error(path: str, address: str, parts: re.Match[str], command: str) -> MissingInput:
    """The error for an address with wildcards: its fix copies the files into a folder of a name not in use."""
    folder, glob = parts.groups()
    copy = free_name(folder.rstrip("/").rpartition("/")[2])
    words = {"address": address, "folder": folder, "glob": glob, "copy": copy}
    fetch = command.format(**{name: shlex.quote(word) for name, word in words.items()})
    fact, fix = (
        f"{address!r} is an address, and only files are read",
        f"fetch the files first: {fetch} # and name {copy}",
    )
    return MissingInput(fact, fix=fix, path=path, address=address, fetch=fetch, copy=copy)


_MAX_LISTED = 8
"""Files that a fix lists."""


def similar_file(path: str | os.PathLike[str], is_meant: Callable[[Path], bool] = Path.exists) -> str | None:
    """The remedy that names what exists with a path like this one and may be meant, if something does."""
    near = similar_path(Path(path), is_meant)
    # A command would read a name with a dash before it as an option.
    name = f"./{near}" if str(near).startswith("-") else str(near)
    return f"check the name: there is {name!r}" if near else None


_MAX_NEAR = 8
"""Names like the missing one, of which the nearest that may be meant is chosen."""


def similar_path(path: Path, is_meant: Callable[[Path], bool] = Path.exists) -> Path | None:
    """What may be meant: a name like that of `path` in its folder, or in a folder with a name like that of its own."""
    # The import takes 15 ms.
    from difflib import get_close_matches

    try:
        names = os.listdir(path.parent)  # noqa: PTH208  (names, not paths)
    except FileNotFoundError:
        folder = similar_path(path.parent) if path.parent.name else None
        if folder is None:
            return None
        other = folder / path.name
        return other if other.exists() and is_meant(other) else similar_path(other, is_meant)
    except (OSError, ValueError):
        return None
    # A name in other case first, which some systems take for the same.
    alike = [name for name in names if name.casefold() == path.name.casefold()]
    near = map(path.with_name, alike or get_close_matches(path.name, names, n=_MAX_NEAR, cutoff=0.8))
    return next(filter(is_meant, near), None)


def last_write(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Size and time of the last write of a file, which differ after a write; None for anything but a file."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def check_unchanged(before: Mapping[str, tuple[int, int] | None]) -> None:
    """Raises `Unreadable` for the first file whose `last_write` is not that of `before` any more."""
    for path, found in before.items():
        if last_write(path) != found:
            raise Unreadable(
                f"{path!r} was changed while it was read",
                where=path,
                limit="a file must stay as it is while a command reads it",
                fix="run the same command again",
                path=path,
            )


def mention_texts(error: MissingInput, corpus: object, fix: str, single_fix: str | None = None) -> None:
    """Changes the fix where the caller probably means texts: less than half of a list exists, or a str has spaces.

    `[texts]` in `fix`, and `[text]` in `single_fix`, become the texts themselves where they are short.
    """
    if isinstance(corpus, (list, tuple)) and 2 * sum(map(_names_source, corpus)) < len(corpus):
        texts = short_text(corpus, "texts") if all(isinstance(each, str) for each in corpus) else "texts"
        error.limit, error.fix = "a str in a list is a path", fix.replace("[texts]", texts)
    elif single_fix and isinstance(corpus, str) and any(map(str.isspace, corpus)):
        error.fix = single_fix.replace("[text]", texts_of_one(corpus))


def _names_source(path: str | os.PathLike[str]) -> bool:
    return str(path).startswith(("hf:", "~/")) or os.path.exists(path)  # noqa: PTH110 - false also for names that no system takes


def beginning(text: bytes, max_bytes: int) -> bytes:
    """The first bytes of a UTF-8 text without a part of a character at their end; other bytes stay as they are."""
    if len(text) <= max_bytes:
        return text
    part = text[:max_bytes]
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(part)
    return part[: len(part) - len(decoder.getstate()[0])]


def file_digest(path: str | os.PathLike[str]) -> str:
    """sha256 (hex) of a file, read in blocks. Raises `MissingInput`, `Unreadable`."""
    state = hashlib.sha256()
    with opened(path) as file:
        while block := file.read(_BLOCK_BYTES):
            state.update(block)
    return state.hexdigest()
