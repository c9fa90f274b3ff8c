"""What `datasets` saved to a folder is checked before that package maps it into memory, and its splits are known.

It unpacks the compressed batches of a file all at once, so a folder of 200 kB can take gigabytes; `save_to_disk` writes
none. And it opens whatever files `state.json` names.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from slmtok.corpus.paths import HUGGING_FACE
from slmtok.errors import MissingInput, SlmtokError, Unreadable
from slmtok.files import read_limited

_STATES = ("state.json", "*/state.json")
"""Of one split, and of several."""
_MAX_SOURCES = 256
_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2
"""Numbers of the kinds of `MessageHeader` in Arrow's Message.fbs."""


def check_saved(folder: str) -> None:
    """Raises `Unreadable` for files outside of the folder and compressed batches, `MissingInput` for absent files."""
    for state in sorted(path for pattern in _STATES for path in Path(folder).glob(pattern)):
        for name in _data_files(state):
            if Path(name).name != name:
                raise Unreadable(
                    f"the data set names the file {name!r}, which is not in its folder",
                    where=str(state),
                    limit="names without a path",
                    fix="save it again: datasets.load_from_disk(folder).save_to_disk(copy), if you trust it",
                    path=str(state),
                )
            if not state.with_name(name).is_file():
                raise MissingInput(
                    f"the data set {str(state.parent)!r} lacks {name}, which its {state.name} names",
                    where=str(state),
                    fix="copy the folder again, with all of its files, from where it was saved",
                    path=str(state),
                )
            _check_batches(state.with_name(name))


def default_split(names: Sequence[str]) -> str:
    """The split that is read where none is named: `train`, or the only one."""
    return "train" if "train" in names or len(names) != 1 else names[0]


class UnreadSplits(NamedTuple):
    """source: a folder with several splits, of which one is read. names: what reads the others."""

    source: str
    read: str
    names: list[str]

    @property
    def fact(self) -> str:
        """What was read of the folder."""
        return f"{self.source} has {len(self.names) + 1:,} splits, and {self.read} alone was read"

    @property
    def remedy(self) -> str:
        """What reads the other splits."""
        return f"name {shlex.join(self.names)} for what else it has"


def unread_splits(sources: Sequence[str]) -> UnreadSplits | None:
    """The first folder of several splits whose name says none of them, where no other source is one of these."""
    for source in (each for each in sources[:_MAX_SOURCES] if each.startswith(HUGGING_FACE)):
        try:
            path = Path(source.removeprefix(HUGGING_FACE), "dataset_dict.json")
            splits = sorted(map(str, json.loads(read_limited(path, "metadata"))["splits"]))
        except (SlmtokError, OSError, ValueError, LookupError, TypeError, RecursionError):
            continue
        read = default_split(splits)
        others = [name for name in splits if name != read]
        names = [f"{source}@{name}" for name in others]
        if names and len(others) < len(splits) and set(names).isdisjoint(sources):
            return UnreadSplits(source, read, names)
    return None


def _data_files(state: Path) -> list[str]:
    try:
        listed = json.loads(read_limited(state, "metadata"))["_data_files"]
        return [str(entry["filename"]) for entry in listed]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it lists no files of data"
        raise Unreadable(
            f"{str(state)!r} is not as datasets.save_to_disk writes it: {reason}",
            where=str(state),
            limit="JSON with the names of the files of a data set",
            fix="copy the folder again, with all of its files, from where it was saved",
            path=str(state),
        ) from None


def _check_batches(path: Path) -> None:
    import pyarrow as pa

    if not path.stat().st_size:
        return
    with pa.memory_map(str(path)) as source:
        for number, message in enumerate(pa.ipc.MessageReader.open_stream(source)):
            if _is_compressed(message.metadata.to_pybytes()):
                raise Unreadable(
                    f"the data set has a compressed batch, message {number}, which is unpacked whole",
                    where=str(path),
                    limit="batches without compression, as datasets.save_to_disk writes them",
                    fix="save it again, if the memory suffices: datasets.load_from_disk(folder).save_to_disk(copy)",
                    path=str(path),
                )


def _is_compressed(message: bytes) -> bool:
    """Whether the metadata of a message of Arrow's IPC format, a flatbuffer, are those of compressed buffers."""

    def number(at: int, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(message[at : at + size], "little", signed=signed)

    def field(table: int, index: int) -> int:
        """Where a field of a table is, 0 for one that is not set."""
        fields = table - number(table, 4, signed=True)
        entry = 4 + 2 * index
        offset = number(fields + entry, 2) if entry < number(fields, 2) else 0
        return table + offset if offset else 0

    def inner(table: int, index: int) -> int:
        at = field(table, index)
        return at + number(at, 4) if at else 0

    root = number(0, 4)
    kind = number(field(root, 1), 1)
    header = inner(root, 2)
    if kind == _DICTIONARY_BATCH:
        kind, header = _RECORD_BATCH, inner(header, 1)
    return kind == _RECORD_BATCH and field(header, 3) != 0
