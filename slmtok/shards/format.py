"""The shard format (docs/formats/shards.md): file names, the 4096-byte header, `manifest.json`, `vocab.json`.

Integers are little-endian. JSON is canonical: equal content gives equal bytes, without times, host or absolute paths.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, cast

from slmtok import schema
from slmtok.errors import CorruptFile, CorruptShard, Message, MissingInput, Setting, UnsupportedVersion
from slmtok.files import free_name, resolved, unreadable
from slmtok.json_files import parse, read_bounded
from slmtok.strict_json import FaultError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.tokenizer import Tokenizer

MAGIC = b"SLMSHARD"
VERSION = 1
MANIFEST_FORMAT, MANIFEST_VERSION = "slmtok-shards", 1
HEADER_BYTES = 4096
BOS_FLAG, EOS_FLAG = 1, 2
SPLITS = ("train", "val")
MANIFEST, PLAN, JOURNAL, VOCAB, TOKENIZER = "manifest.json", "plan.json", "journal.jsonl", "vocab.json", "tok.json"
MAX_VOCAB = (1 << 24) - 1
TEMPORARY = ".tmp"
"""Suffix of a shard file that is being written."""

_FIELDS = struct.Struct("<8sIIQQQII32sQ")
_SHARD_FILE = re.compile(r"(train|val)-\d{5,}\.(bin|off|nb|dom)(\.tmp)?")
_REQUIRED_ROLES = ("bos", "eos", "pad")

FRAMES: dict[str, tuple[bool, bool]] = {
    "bos_eos": (True, True),
    "bos": (True, False),
    "eos": (False, True),
    "none": (False, False),
}
"""Values of the manifest's `frame`: whether each document begins with `bos`, and whether it ends with `eos`."""


def canonical_json(content: object) -> bytes:
    """A JSON file: sorted keys, one space of indentation, UTF-8, a final line feed."""
    return (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


# --- names ------------------------------------------------------------------------------------------------------------


def shard_name(split: str, shard: int) -> str:
    """The name of a shard without suffix: `train-00000`."""
    return f"{split}-{shard:05d}"


def is_shard_file(name: str) -> bool:
    """Whether a file of this name belongs to a shard, finished or not."""
    return _SHARD_FILE.fullmatch(name) is not None


def is_subset(name: str) -> bool:
    """Whether a folder of this name holds a subset of the shards beside it."""
    return re.fullmatch(r"subset-\d+", name) is not None


def file_sizes(tokens: int, docs: int, width: int) -> dict[str, int]:
    """The size in bytes of each file of a shard, by suffix; ids take `width` bytes."""
    return {"bin": HEADER_BYTES + tokens * width, "off": 8 * (docs + 1), "nb": 8 * docs, "dom": 2 * docs}


# --- the header of a .bin ---------------------------------------------------------------------------------------------


def id_bytes(n_vocab: int) -> int:
    """Bytes per id."""
    return 2 if n_vocab <= 65536 else 4


def id_dtype(n_vocab: int) -> np.dtype[Any]:
    """The dtype of ids, little-endian."""
    import numpy as np

    return np.dtype("<u2" if id_bytes(n_vocab) == 2 else "<u4")


def map_array(path: Path, dtype: Any, count: int, offset: int = 0) -> NDArray[Any]:
    """`count` numbers of a file from byte `offset` on, mapped, read-only. Raises `CorruptShard` for a shorter file."""
    import numpy as np

    if not count:
        return np.empty(0, dtype=dtype)
    try:
        return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=(count,))
    except ValueError:
        raise corrupt(path, f"it is too short for {count:,} numbers") from None
    except FileNotFoundError:
        raise missing_file(path) from None
    except OSError as error:
        raise unreadable(str(path), error) from error


def frame_flags(frame: str) -> int:
    """The header flags for a `frame`."""
    bos, eos = FRAMES[frame]
    return (BOS_FLAG if bos else 0) | (EOS_FLAG if eos else 0)


@dataclass(frozen=True)
class Header:
    """The first 4096 bytes of a `.bin`."""

    n_tokens: int
    n_docs: int
    n_bytes: int
    n_vocab: int
    flags: int
    fingerprint: str
    shard: int

    @property
    def id_bytes(self) -> int:
        """Bytes per id."""
        return id_bytes(self.n_vocab)

    def to_bytes(self) -> bytes:
        """The header as bytes."""
        fields = _FIELDS.pack(
            MAGIC,
            VERSION,
            self.id_bytes,
            self.n_tokens,
            self.n_docs,
            self.n_bytes,
            self.n_vocab,
            self.flags,
            bytes.fromhex(self.fingerprint),
            self.shard,
        )
        return fields.ljust(HEADER_BYTES, b"\0")

    @classmethod
    def read(cls, source: Path) -> Header:
        """Reads the header of a file. Raises `CorruptShard`, `UnsupportedVersion`, naming the field, `OSError`."""
        with source.open("rb") as file:
            data = file.read(HEADER_BYTES)
        if len(data) < HEADER_BYTES or data[:8] != MAGIC:
            raise corrupt(source, "it does not begin with the magic SLMSHARD and 4096 bytes of header")
        _, version, width, tokens, docs, n_bytes, n_vocab, flags, fingerprint, shard = _FIELDS.unpack_from(data)
        if version != VERSION:
            raise unsupported(f"{source} has shard version {version}", VERSION, source)
        if width != id_bytes(n_vocab):
            raise corrupt(source, f"its header says {width} bytes per id for n_vocab {n_vocab}")
        if flags > BOS_FLAG | EOS_FLAG or any(data[_FIELDS.size : HEADER_BYTES]):
            raise corrupt(source, "its header sets flags or bytes that version 1 leaves zero")
        return cls(tokens, docs, n_bytes, n_vocab, flags, fingerprint.hex(), shard)


MAX_NAMED = 8
"""Missing files that an error names."""
_REPACK: Message = ("pack the corpus again with ", Setting("force", True), ", or fetch the file again")


def missing_file(path: Path) -> CorruptShard:
    """The error for a file of a folder of shards that does not exist; it names the others that are missing."""
    if not (path.parent / MANIFEST).exists():
        # It was there when the folder was opened.
        return CorruptShard(
            f"{path} is gone, and so is the {MANIFEST} that named it",
            where=f"{path.parent}: slmtok pack may be replacing it, or it was removed, while it was read",
            fix="run the same command again once the folder is complete",
            path=str(path),
        )
    lost: list[str] = []
    with suppress(OSError, ValueError, KeyError, TypeError):
        shards = json.loads((path.parent / MANIFEST).read_bytes())["shards"]
        lost = [f"{shard['name']}.{kind}" for shard in shards for kind in shard["sha256"]]
    lost = [name for name in lost if name != path.name and not (path.parent / name).exists()]
    more = f" and {len(lost) - MAX_NAMED} more" if len(lost) > MAX_NAMED else ""
    fact = f"{path} is missing" + (
        f", and so {'are' if len(lost) > 1 else 'is'} {', '.join(lost[:MAX_NAMED])}{more}" if lost else ""
    )
    it = "them" if lost else "it"
    fix = (f"move {it} back or fetch {it} again, or pack the corpus again with ", Setting("force", True))
    return CorruptShard(fact, where=f"{MANIFEST} beside {it} names {it}", fix=fix, path=str(path))


def corrupt(path: Path | str, fault: str, *, kind: str = "shard", fix: Message = _REPACK) -> CorruptShard:
    """The error for a damaged file of a folder of shards."""
    return CorruptShard(f"{path} is not a valid {kind}: {fault}", where=str(path), fix=fix, path=str(path))


def refuse_link(path: Path, fix: Message = _REPACK) -> None:
    """Raises `CorruptShard` for a pipe or a device, and for a symbolic link to a file outside of the folder.

    fix: that of a path which is no file.
    """
    if path.exists() and not path.is_file():
        raise corrupt(path, "it is not a regular file", fix=fix)
    if path.is_symlink() and not _belongs_to_folder(resolved(path), resolved(path.parent)):
        fault = f"it is a symbolic link out of its folder, to {str(path.readlink())!r}"
        name, copied = quote(str(path)), quote(free_name(f"{path}.copy"))
        raise corrupt(path, fault, fix=f"copy the file into the folder: cp -L {name} {copied} && mv {copied} {name}")


def _belongs_to_folder(file: Path, folder: Path) -> bool:
    """Whether a file is in a folder, or among the files of the same repository in the cache of `huggingface_hub`.

    In that cache `snapshots/REVISION/NAME` is a link to a file of `blobs`, which is beside `snapshots`.
    """
    repositories = (parent.parent for parent in folder.parents if parent.name == "snapshots")
    return any(file.is_relative_to(place) for place in (folder, *(place / "blobs" for place in repositories)))


def corrupt_file(path: Path, fault: str, *, limit: str | None = None) -> CorruptFile:
    """The error for a damaged file of another layout."""
    return CorruptFile(f"{path} is not valid: {fault}", where=str(path), limit=limit, fix=_REPACK, path=str(path))


def unsupported(fact: str, version: int, path: Path) -> UnsupportedVersion:
    """The error for a file of another version than this package reads."""
    return UnsupportedVersion(
        fact,
        limit=f"this package reads version {version}",
        fix="read it with the release that wrote it, or pack again",
        path=str(path),
    )


# --- manifest.json ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Totals:
    """The size of a shard or split. digest: the sum modulo 2^256 of the sha256 of its documents."""

    tokens: int = 0
    docs: int = 0
    bytes: int = 0
    digest: int = 0

    def __add__(self, other: Totals) -> Totals:
        digest = (self.digest + other.digest) % (1 << 256)
        return Totals(self.tokens + other.tokens, self.docs + other.docs, self.bytes + other.bytes, digest)

    def to_json(self) -> dict[str, object]:
        """The digest as 64 hexadecimal digits, everything else as numbers."""
        return {**asdict(self), "digest": f"{self.digest:064x}"}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Totals:
        """The inverse of `to_json`."""
        return cls(content["tokens"], content["docs"], content["bytes"], int(content["digest"], 16))


def manifest_totals(shards: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The keys `digest`, `splits` and `shards` of a manifest, from the entries of its shards."""
    members = {split: [Totals.from_json(shard) for shard in shards if shard["split"] == split] for split in SPLITS}
    totals = {split: sum(found, Totals()) for split, found in members.items() if found}
    return {
        "digest": sum(totals.values(), Totals()).to_json()["digest"],
        "splits": {split: {**total.to_json(), "shards": len(members[split])} for split, total in totals.items()},
        "shards": sorted(shards, key=lambda shard: (SPLITS.index(shard["split"]), shard["name"])),
    }


def make_manifest(
    plan: dict[str, Any], vocabulary: dict[str, Any], shards: Sequence[dict[str, Any]], skipped: int, domains: list[str]
) -> dict[str, Any]:
    """The manifest of a finished run with these shards; `domains` are the names of the numbers in `.dom`."""
    return {
        "format": MANIFEST_FORMAT,
        "version": MANIFEST_VERSION,
        "fingerprint": vocabulary["fingerprint"],
        "n_vocab": vocabulary["n_vocab"],
        "dtype": f"u{8 * id_bytes(vocabulary['n_vocab'])}",
        "frame": plan["options"]["frame"],
        **({"domains": domains} if domains else {}),
        "skipped": skipped,
        **manifest_totals(shards),
        "plan": plan,
    }


def read_manifest(folder: Path, name: str = MANIFEST) -> dict[str, Any]:
    """The manifest in a folder; it exists once the folder is complete.

    Raises `MissingInput`, `CorruptShard`, `UnsupportedVersion`.
    """
    path = folder / name
    refuse_link(path)
    try:
        content = parse(read_bounded(path, "manifest"), _check_version)
        if content["version"] != MANIFEST_VERSION:
            raise unsupported(f"{path} has version {content['version']!r}", MANIFEST_VERSION, path)
        _MANIFEST(content, "")
        _check_agreement(content)
    except FileNotFoundError:
        unfinished = (folder / JOURNAL).exists()
        raise MissingInput(
            f"{str(folder)!r} holds {'an unfinished run of pack' if unfinished else 'no packed data'}",
            where=str(path),
            fix="run its command again, or wait for its end if it runs now"
            if unfinished
            else "slmtok pack CORPUS -t TOK -o DATA",
            path=str(folder),
        ) from None
    except UnsupportedVersion:
        raise
    except (FaultError, OSError) as error:
        fault = str(error) if isinstance(error, FaultError) else f"it cannot be read ({error.strerror or error})"
        raise corrupt(path, fault, kind="manifest") from (error if isinstance(error, OSError) else None)
    return content


def _check_version(content: dict[str, Any], where: str) -> None:
    versions = {"format": schema.choice(MANIFEST_FORMAT), "version": schema.integer(1)}
    schema.table(versions, is_open=True)(content, where)


def _check_agreement(content: dict[str, Any]) -> None:
    """Raises `FaultError` where values contradict each other. Names of shards become paths: only expected ones pass."""
    if content["dtype"] != f"u{8 * id_bytes(content['n_vocab'])}":
        raise FaultError(f"dtype is {content['dtype']!r} for n_vocab {content['n_vocab']}")
    expected = dict.fromkeys(SPLITS, 0)
    for index, entry in enumerate(content["shards"]):
        name = shard_name(entry["split"], expected[entry["split"]])
        if entry["name"] != name:
            raise FaultError(f"shards[{index}].name is {entry['name']!r}, expected {name!r}")
        expected[entry["split"]] += 1
        if ("dom" in entry["sha256"]) != ("domains" in content):
            raise FaultError(f"shards[{index}].sha256 has the files {', '.join(sorted(entry['sha256']))}")
    totals = manifest_totals(content["shards"])
    for key in ("shards", "splits", "digest"):
        if content[key] != totals[key]:
            raise FaultError(f"{key} contradicts the entries of the shards")


_SIZES = {name: schema.integer() for name in ("tokens", "docs", "bytes")} | {"digest": schema.digest}
TOTALS = schema.table(_SIZES)
"""`Totals` in JSON."""
ENTRY = schema.table(
    {
        "name": schema.text,
        "split": schema.choice(*SPLITS),
        "sha256": schema.table(dict.fromkeys(("bin", "off", "nb"), schema.digest), {"dom": schema.digest}),
        **_SIZES,
    }
)
"""A shard in manifest and journal."""
PLAN_KEYS: dict[str, schema.Check] = {
    "format": schema.text,
    "version": schema.integer(),
    "tokenizer": schema.table({"fingerprint": schema.digest, "sha256": schema.digest}),
    "options": schema.mapping(schema.plain),
    "sources": schema.array(
        schema.table(
            {
                "name": schema.text,
                "bytes": schema.nullable(schema.integer()),
                "edges": schema.nullable(schema.digest),
            }
        )
    ),
    "split": schema.table(
        {"rule": schema.text},
        {"first": schema.array(schema.integer(), length=2), "cut": schema.nullable(schema.integer())},
    ),
}
_MANIFEST = schema.table(
    {
        "format": schema.choice(MANIFEST_FORMAT),
        "version": schema.choice(MANIFEST_VERSION),
        "fingerprint": schema.digest,
        "n_vocab": schema.integer(1, MAX_VOCAB),
        "dtype": schema.choice("u16", "u32"),
        "frame": schema.choice(*FRAMES),
        "digest": schema.digest,
        "skipped": schema.integer(),
        "splits": schema.table({}, dict.fromkeys(SPLITS, schema.table({**_SIZES, "shards": schema.integer(1)}))),
        "shards": schema.array(ENTRY),
        "plan": schema.table(PLAN_KEYS),
    },
    {"domains": schema.array(schema.text), "subset": schema.integer()},
)


# --- vocab.json -------------------------------------------------------------------------------------------------------


def vocabulary_metadata(tokenizer: Tokenizer) -> dict[str, object]:
    """The content of `vocab.json`: the tokenizer's metadata, with the roles that a model needs.

    A foreign table (GPT-2's, say) may lack `bos`, `eos` and `pad`. They are appended behind its last id, so its own ids
    and the fingerprint stay unchanged.
    """
    content = tokenizer.metadata()
    specials = dict(cast("dict[str, int]", content["specials"]))
    lengths = list(cast("list[int]", content["byte_lengths"]))
    for role in _REQUIRED_ROLES:
        if role not in specials:
            specials[role] = len(lengths)
            lengths.append(0)
    n_vocab = len(lengths)
    return {
        **content,
        "n_vocab": n_vocab,
        "padded_vocab": -(-n_vocab // 64) * 64,
        "specials": specials,
        "byte_lengths": lengths,
    }


def special_id(content: dict[str, Any], role: str) -> int:
    """The id of a role in the content of a `vocab.json`."""
    return int(content["specials"][role])
