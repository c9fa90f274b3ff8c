"""Packed data (docs/formats/shards.md): a folder with a manifest, `vocab.json` and memory-mapped shards.

The manifest is written last, so a folder without one is unfinished. File sizes and totals are checked when a shard is
opened; id ranges and delimiters once, when its ids are first read; SHA-256 by `slmmodel.training.verify`. Manifest,
shard headers and `vocab.json` must agree. The tokenizer file in the folder is never opened.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections import namedtuple
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from slmmodel.checks import missing_path
from slmmodel.data.packing import Ints
from slmmodel.data.source import (
    REPACK,
    Delimiters,
    NoSuchSplitError,
    OneBlockSource,
    Shard,
    check_ids,
    corrupt,
    delimiters_of,
    map_array,
    pack_again,
    unreadable,
    wrong_version,
)
from slmmodel.errors import Argument, CorruptFile, Fix, Mismatch, MissingInput
from slmmodel.files import resolved
from slmmodel.json_files import Count, Digest, FaultError, Strict, exactly, read_object, validated
from slmmodel.vocab import VocabMeta

MANIFEST, VOCAB = "manifest.json", "vocab.json"
MAGIC, VERSION = b"SLMSHARD", 1
HEADER_BYTES = 4096
_SHARD_FILE = re.compile(r"(train|val)-\d{5,}\.(bin|off|nb|dom)")
_NAMES_OF_VAL = ("validation", "valid", "dev")
"""Of other data sets, in lower case."""
MAX_VOCAB_U16 = 65536
FLAG_BOS, FLAG_EOS = 1, 2
FRAMES = {"bos_eos": (True, True), "bos": (True, False), "eos": (False, True), "none": (False, False)}
"""Whether each document is stored with its opening id, and with its closing id."""
_HEADER = struct.Struct("<8sIIQQQII32sQ")
Header = namedtuple("Header", "magic version width tokens docs bytes n_vocab flags fingerprint number")
"""The fields of a shard's header; `width` is bytes per id, and `number` that of the shard within its split."""


class _Totals(Strict):
    """The size of a shard or split; `digest` is the sum modulo 2^256 of the SHA-256 of its documents."""

    tokens: Count
    docs: Count
    bytes: Count
    digest: Digest


class _Entry(_Totals):
    """A shard as the manifest lists it."""

    name: str
    split: Literal["train", "val"]
    sha256: dict[Literal["bin", "off", "nb", "dom"], Digest]
    """Of each of its files, by ending."""


class _Split(_Totals):
    shards: Count


_PACK_DEFAULTS = ("auto", "file", "text")
"""Values of options of `slmtok pack` that go without saying."""


def _quoted(text: str) -> str:
    """A word for a shell, line ends and tabs escaped."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    for character, escape in {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.items():
        escaped = escaped.replace(character, escape)
    return quote(text) if text.isprintable() else f"$'{escaped}'"


class _Manifest(Strict):
    """A manifest. Names of shards become paths, so only the expected ones are valid."""

    format: Literal["slmtok-shards"]
    version: Annotated[int, exactly(VERSION)]
    fingerprint: Digest
    n_vocab: Annotated[int, Field(ge=1, lt=1 << 24)]
    dtype: Literal["u16", "u32"]
    frame: Literal["bos_eos", "bos", "eos", "none"]
    digest: Digest
    skipped: Count
    domains: list[str] = Field(default_factory=list)
    splits: dict[Literal["train", "val"], _Split]
    shards: list[_Entry]
    plan: dict[str, Any]
    """What determined the ids, by `slmtok pack`: tokenizer, options, split and sources."""
    subset: Count | None = None

    @property
    def inference(self) -> str:
        """How the tokenizer cut the text."""
        return str(self.plan.get("options", {}).get("inference", "merges"))

    def pack_flags(self) -> str:
        """The options of `slmtok pack` that cut the documents, for a shell; empty for its defaults."""
        options = self.plan.get("options", {})
        words = [] if self.frame == "bos_eos" else [f"--no-{name}" for name in ("bos", "eos") if name not in self.frame]
        for name, value in {**options.get("read", {}), "val": options.get("val")}.items():
            flag = f"--{name.replace('_', '-')}"
            if value is True:
                words.append(flag)
            elif isinstance(value, str | int | float) and value is not False and value not in _PACK_DEFAULTS:
                words += [flag, _quoted(str(value))]
        return " ".join(words)

    @model_validator(mode="after")
    def _check(self) -> _Manifest:
        if (self.dtype == "u16") != (self.n_vocab <= MAX_VOCAB_U16):
            raise ValueError(f"dtype {self.dtype} contradicts n_vocab {self.n_vocab}")
        by_split = {split: [entry for entry in self.shards if entry.split == split] for split in ("train", "val")}
        expected = [f"{split}-{number:05d}" for split, found in by_split.items() for number in range(len(found))]
        for entry, name in zip(self.shards, expected, strict=True):
            if entry.name != name:
                raise ValueError(f"the shard {entry.name!r} stands where {name!r} belongs")
            if set(entry.sha256) != {"bin", "off", "nb", *(["dom"] if self.domains else [])}:
                raise ValueError(f"the shard {name} has the files {', '.join(sorted(entry.sha256))}")
        sums = {split: _totals(found) | {"shards": len(found)} for split, found in by_split.items() if found}
        if {name: split.model_dump() for name, split in self.splits.items()} != sums:
            raise ValueError("splits contradicts the entries of the shards")
        if self.digest != _totals(self.shards)["digest"]:
            raise ValueError("digest contradicts the entries of the shards")
        return self


def _totals(entries: list[_Entry]) -> dict[str, Any]:
    """The fields of `_Totals` over some shards."""
    digest = sum(int(entry.digest, 16) for entry in entries) % (1 << 256)
    counts = {key: sum(getattr(entry, key) for entry in entries) for key in ("tokens", "docs", "bytes")}
    return {**counts, "digest": f"{digest:064x}"}


def open_shard(path: Path, header: Header, delimiters: Delimiters, *, has_domains: bool) -> Shard:
    """The files of one shard, memory-mapped. Checks sizes, offsets and the total of bytes, not the ids."""
    off, nb = path.with_suffix(".off"), path.with_suffix(".nb")
    ids = map_array(path, f"<u{header.width}", header.tokens, HEADER_BYTES)
    offsets = map_array(off, "<u8", header.docs + 1)
    nbytes = map_array(nb, "<u8", header.docs)
    if int(offsets[0]) != 0 or int(offsets[-1]) != header.tokens:
        raise corrupt(off, f"does not run from 0 to n_tokens {header.tokens}")
    shortest = 2 - delimiters.added
    # Beyond the end of the shard, adding would begin again at 0.
    is_beyond = offsets[:-1] > np.uint64(header.tokens)
    too_short = is_beyond | (offsets[1:] < offsets[:-1] + np.uint64(shortest))
    if too_short.any():
        raise corrupt(off, f"gives document {int(too_short.argmax())} fewer than {shortest} ids")
    total = int(nbytes.sum(dtype=np.uint64))
    if total != header.bytes:
        raise corrupt(nb, f"sums to {total:,} bytes; the header has {header.bytes:,}")
    domains = map_array(path.with_suffix(".dom"), "<u2", header.docs) if has_domains else None
    return Shard(ids, offsets[:-1], offsets[1:], nbytes, domains)


class ShardSource(OneBlockSource):
    """One split of packed data; its shards are one block. The ids of a shard are checked when they are first read."""

    vocab: VocabMeta
    delimiters: Delimiters

    def __init__(self, folder: Path, split: str) -> None:
        """Raises `MissingInput`, `CorruptFile`, `UnsupportedFormat`, `Mismatch`."""
        manifest = read_manifest(folder)
        refuse_link(folder / VOCAB)
        self.split, self.vocab = split, VocabMeta.load(folder / VOCAB)
        if manifest.n_vocab != self.vocab.n_vocab:
            fact = f"has n_vocab {manifest.n_vocab}, {VOCAB} has {self.vocab.n_vocab}"
            raise corrupt(folder / MANIFEST, fact)
        self._check_fingerprint(folder / MANIFEST, manifest.fingerprint)
        entries = [entry for entry in manifest.shards if entry.split == split]
        if not entries:
            splits = sorted({entry.split for entry in manifest.shards})
            named = ["val"] if split.lower() in _NAMES_OF_VAL and "val" in splits else splits
            fix = [part for each in named for part in (Argument("split", each), ", or ")]
            fix = fix[:-1] if "val" in splits else [*fix, "pack with slmtok pack --val"]
            raise NoSuchSplitError(
                f"{folder} has no split {split!r}",
                where=str(folder / MANIFEST),
                limit=f"splits: {', '.join(splits) or 'none'}",
                fix=tuple(fix),
            )
        self.paths = [folder / f"{entry.name}.bin" for entry in entries]
        self.inference, self.pack_flags = manifest.inference, manifest.pack_flags()
        sources = manifest.plan.get("sources")
        listed = sources if isinstance(sources, list) else []
        self.packed_from = tuple(str(each.get("name")) for each in listed if isinstance(each, dict))
        with self._naming_command():
            shards, delimiters = self._open_shards(manifest, entries)
        super().__init__(shards, delimiters)
        self._unchecked = set(range(len(shards)))
        self._documents_digest = next(found.digest for name, found in manifest.splits.items() if name == split)
        self.domain_names = tuple(manifest.domains)
        self._digests: list[dict[Any, str]] = [entry.sha256 for entry in entries]

    @contextmanager
    def _naming_command(self) -> Iterator[None]:
        """The fix of an error about a damaged file has the command that packed the data, and replaces them."""
        try:
            yield
        except (CorruptFile, MissingInput) as error:
            folder = self.paths[0].parent
            tokenizer = folder / "tok.json"
            if error.fix == REPACK and tokenizer.is_file():
                error.fix = f"pack the data again: {pack_again(self, str(tokenizer), folder)}"
            raise

    def _open_shards(self, manifest: _Manifest, entries: Sequence[_Entry]) -> tuple[list[Shard], Delimiters]:
        """The shards of a split. Raises as `__init__`."""
        folder = self.paths[0].parent
        try:
            headers = [self._read_header(*numbered) for numbered in enumerate(entries)]
            stores_opening, stores_closing = FRAMES[manifest.frame]
            flags = FLAG_BOS * stores_opening | FLAG_EOS * stores_closing
            for path, header in zip(self.paths, headers, strict=True):
                if header.flags != flags:
                    raise corrupt(path, f"has flags {header.flags}, the manifest has frame {manifest.frame!r}")
            delimiters = delimiters_of(self.vocab, stores_opening=stores_opening, stores_closing=stores_closing)
            has_domains = bool(manifest.domains)
            shards = [
                open_shard(path, header, delimiters, has_domains=has_domains)
                for path, header in zip(self.paths, headers, strict=True)
            ]
        except OSError as error:
            raise unreadable(folder, error) from error
        return shards, delimiters

    def _read_header(self, number: int, entry: _Entry) -> Header:
        """The header of a shard, which must agree with its entry in the manifest and with the vocabulary."""
        path = self.paths[number]
        for suffix in entry.sha256:
            refuse_link(path.with_suffix(f".{suffix}"))
        with path.open("rb") as file:
            data = file.read(HEADER_BYTES)
        if len(data) < HEADER_BYTES or data[:8] != MAGIC:
            fact = f"it does not begin with {MAGIC.decode()} and {HEADER_BYTES} bytes of header"
            raise corrupt(path, f"is not a token shard: {fact}")
        header = Header._make(_HEADER.unpack_from(data))
        if header.version != VERSION:
            raise wrong_version(path, header.version, VERSION)
        n_vocab, listed = self.vocab.n_vocab, entry.model_dump(include={"tokens", "docs", "bytes"})
        width = 2 if n_vocab <= MAX_VOCAB_U16 else 4
        for field, expected in {**listed, "number": number, "n_vocab": n_vocab, "width": width}.items():
            if (value := getattr(header, field)) != expected:
                raise corrupt(path, f"has {field} {value}, expected {expected} as in {MANIFEST} and {VOCAB}")
        if header.flags & ~(FLAG_BOS | FLAG_EOS):
            raise corrupt(path, f"has unknown flags {header.flags:#x}")
        if any(data[_HEADER.size :]):
            raise corrupt(path, f"has nonzero bytes after the header's fields, from byte {_HEADER.size} on")
        self._check_fingerprint(path, header.fingerprint.hex())
        return header

    def _check_fingerprint(self, path: Path, fingerprint: str) -> None:
        if fingerprint != self.vocab.fingerprint:
            raise Mismatch(
                f"{path.name} and {VOCAB} were made with different tokenizers",
                where=str(path),
                limit=f"fingerprints {fingerprint[:16]}… and {self.vocab.fingerprint[:16]}…",
                fix="restore the vocab.json that was packed with the data, or pack the data again",
            )

    @property
    def documents_digest(self) -> str:
        """See `TokenSource`: of the split."""
        return self._documents_digest

    @property
    def digest(self) -> str:
        """SHA-256 over the digests of all files of the split, as the manifest lists them, and the tokenizer."""
        content = {"fingerprint": self.vocab.fingerprint, "shards": self._digests}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def files(self) -> list[tuple[Path, str]]:
        """See `TokenSource`."""
        shards = zip(self.paths, self._digests, strict=True)
        return [(path.with_suffix(f".{kind}"), digest) for path, digests in shards for kind, digest in digests.items()]

    def domains(self) -> Ints | None:
        """See `TokenSource`."""
        domains = [shard.domains for shard in self.shards if shard.domains is not None]
        return np.concatenate(domains).astype(np.int64) if len(domains) == len(self.shards) else None

    def shard(self, number: int) -> Shard:
        """See `DocumentBlock`. Raises `CorruptFile` at the first read of a shard whose ids are invalid."""
        if number in self._unchecked:
            with self._naming_command():
                self._check_ids(self.paths[number], self.shards[number])
            self._unchecked.discard(number)
        return self.shards[number]

    def _check_ids(self, path: Path, shard: Shard) -> None:
        """`max(id) < n_vocab`, and the delimiters that the header promises."""
        check_ids(path, shard.ids, self.vocab.n_vocab)
        opening, closing, stores_opening, stores_closing = self.delimiters
        for is_stored, indices, id, verb in (
            (stores_opening, shard.starts, opening, "begin"),
            (stores_closing, shard.stops - np.uint64(1), closing, "end"),
        ):
            wrong = shard.ids[indices] != id if is_stored else np.empty(0)
            if wrong.any():
                raise corrupt(path, f"does not {verb} its document {int(wrong.argmax())} with id {id}")


def is_file_of_packed(file: Path) -> bool:
    """Whether a file is one of packed data, such as `data/train-00000.bin`, and not their folder."""
    is_named_so = file.name in (MANIFEST, VOCAB, "tok.json") or _SHARD_FILE.fullmatch(file.name) is not None
    return is_named_so and file.is_file() and (file.parent / MANIFEST).exists()


def refuse_link(path: Path) -> None:
    """Raises `CorruptFile` for a pipe or a device, and for a symbolic link to a file outside of the folder."""
    if path.exists() and not path.is_file():
        raise corrupt(path, "is not a regular file")
    if path.is_symlink() and not _belongs_to_folder(resolved(path), resolved(path.parent)):
        fact = f"is a symbolic link out of its folder, to {str(path.readlink())!r}"
        name, copied = quote(str(path)), quote(f"{path}.copy")
        raise corrupt(path, fact, fix=f"copy the file into the folder: cp -L {name} {copied} && mv {copied} {name}")


def _belongs_to_folder(file: Path, folder: Path) -> bool:
    """Whether a file is in a folder, or among the files of the same repository in the cache of `huggingface_hub`.

    In that cache `snapshots/REVISION/NAME` is a link to a file of `blobs`, which is beside `snapshots`.
    """
    repositories = (parent.parent for parent in folder.parents if parent.name == "snapshots")
    return any(file.is_relative_to(place) for place in (folder, *(place / "blobs" for place in repositories)))


def refuse_other_files(folder: Path, fix: Fix) -> None:
    """Raises `MissingInput` for a folder of files that `slmtok pack` does not write, which may be texts."""
    names = sorted(each.name for each in folder.iterdir()) if folder.is_dir() else []
    written = (MANIFEST, "config.yaml", "journal.jsonl")
    if names and not any(name in written or name.endswith((".packing", ".bin", ".npy")) for name in names):
        raise MissingInput(
            f"{folder} holds no token data: it has no {MANIFEST}, and files such as {names[0]!r}",
            where=str(folder),
            fix=fix,
        )


def read_manifest(folder: Path) -> _Manifest:
    """The manifest of a folder. Raises `MissingInput`, `CorruptFile`, `UnsupportedFormat`."""
    path = folder / MANIFEST
    try:
        refuse_link(path)
        table = read_object(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        if not folder.exists():
            fix = "check the name; slmtok pack CORPUS -t TOK -o DIR makes packed data"
            raise missing_path(str(folder), fix) from None
        if (folder / "config.yaml").is_file():
            fix = "name packed data, as slmtok pack CORPUS -t TOK -o DIR writes them"
            raise MissingInput(f"{folder} is a run, not token data", where=str(folder), fix=fix) from None
        refuse_other_files(folder, f"slmtok pack {quote(str(folder))} -t TOK -o DATA, if they are text; then name DATA")
        raise MissingInput(
            f"{folder} is not finished token data: cannot read {MANIFEST} ({error.strerror})",
            where=str(path),
            fix="slmtok pack CORPUS -t TOK -o DIR; the same command finishes an interrupted one",
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error
    except FaultError as fault:
        raise corrupt(path, str(fault)) from None
    return validated(table, _Manifest, path, fix=REPACK)
