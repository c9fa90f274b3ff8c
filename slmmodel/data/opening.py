"""Opening token data by path. Who opens what:

open_source                        one split of packed data, or a file of ids
open_data                          packed data for a training run: training and validation split
training.setup.open_packed_data    the same, by the settings of a run
cli.open_by_path                   ids or text; text becomes ids when it is read
cli.sources.open_mixture           several sources, stages, or a cache of tokenized blocks
cli.recorded                       the data of a run, as its `config.yaml` names them
"""

from __future__ import annotations

import os
import re
import shlex
from codecs import getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from slmmodel.checks import are_ids, check_path, check_type, missing_path, similar_name
from slmmodel.data.file_kinds import TOKENIZER, kind_of, read_head
from slmmodel.data.foreign import ForeignSource, open_foreign
from slmmodel.data.shards import MAGIC as SHARD_MAGIC
from slmmodel.data.shards import MANIFEST, ShardSource, is_file_of_packed, refuse_link, refuse_other_files
from slmmodel.data.source import NoSuchSplitError, TokenSource, pack_again, unreadable
from slmmodel.errors import Argument, Fix, Mismatch, MissingInput, UnsupportedFormat, WrongType
from slmmodel.foreign_attributes import OF_DATA, explains_absent_names
from slmmodel.indexing import explains_indexing
from slmmodel.sizes import parse_share
from slmmodel.vocab import VocabMeta

FileSource = ShardSource | ForeignSource
SPLITS = ("train", "val")
VALIDATION = ("validation", "valid", "dev", "test")
"""What other libraries call the split val."""
ID_SUFFIXES = (".bin", ".npy")
_MIN_TEXT_BYTES = 32
"""Random ids of 2 bytes look like text in fewer than 1 of 10**6 files of 32 bytes."""
_CONTROL = re.compile(r"[\0-\x08\x0b\x0e-\x1f]")


def open_source(
    path: str | os.PathLike[str],
    split: str = "train",
    *,
    layout: str | None = None,
    vocab: VocabMeta | None = None,
    dtype: str | None = None,
    delimiter: int | None = None,
) -> FileSource:
    """Opens a split of packed data, or a file of ids in another layout (in a folder, its `SPLIT.bin` or `SPLIT.npy`).

    `layout` (see `LAYOUTS`), `vocab`, `dtype` (`u2`, `u4`) and `delimiter` (an id) supply what such a file does not
    record; packed data need none of them. Raises `MissingInput`, `CorruptFile`, `UnsupportedFormat`, `Mismatch`.
    """
    if not isinstance(path, str | os.PathLike):
        several = isinstance(path, list | tuple)
        if not several or are_ids(path):
            check_path("path", path, "slmtok.Texts({})")  # raises the error, for ids with the way to a file
        fact = f"path is a {type(path).__name__}, not a str or a Path"
        raise WrongType(fact, fix="[open_source(path) for path in paths]")
    check_type("split", split, str, "split='train'")
    folder = Path(check_path("path", path))
    if not folder.exists():
        fix: Fix = similar_name(folder) or "check the name; slmtok pack CORPUS -t TOK -o DIR writes packed data"
        if _folder_of_split(folder) is not None:
            named = f"name the folder: {shlex.quote(str(folder.parent))}"
            taken = f"{named}, of which the split {split} is taken"
            fix = taken if folder.stem == split else (f"{named}, with ", Argument("split", folder.stem))
        raise missing_path(os.fspath(path), fix)
    file = folder if folder.is_file() else None
    if file is not None:
        _refuse_file_of_packed(file)
    if folder.is_dir() and not (folder / MANIFEST).exists():
        ids = [folder / f"{name}{suffix}" for name in (split, "train", "val") for suffix in ID_SUFFIXES]
        file = next(filter(Path.is_file, ids), None)
        if file is not None and file.stem != split:
            raise NoSuchSplitError(
                f"{folder} has no split {split!r}",
                where=str(folder),
                limit=f"it holds {file.name}",
                fix=f"add {split}{file.suffix}, or name another split",
            )
    if file is not None:
        if layout is None:
            refuse_text(file, name_packed(file))
        return open_foreign(file, layout=layout, vocab=vocab, dtype=dtype, delimiter=delimiter)
    return ShardSource(folder, split)


def _folder_of_split(path: Path) -> Path | None:
    """The folder of packed data of which a path that does not exist names a split; None for other paths."""
    is_split = not path.exists() and path.stem in SPLITS and (path.parent / MANIFEST).is_file()
    return path.parent if is_split else None


def refuse_several(data: object) -> None:
    """Raises `WrongType` for several folders of packed data, which `slm train` mixes."""
    named = [os.fspath(each) for each in data if isinstance(each, str | os.PathLike)] if isinstance(data, list) else []
    if named and all(os.path.isfile(os.path.join(each, MANIFEST)) for each in named):  # noqa: PTH113, PTH118
        mixed = shlex.quote(f"data.train=[{','.join(named)}]")
        fix = f"slm train --set {mixed} -o RUN in a shell, which mixes them; in Python one: data={named[0]!r}"
        raise WrongType("data is a list of folders of packed data, not one", fix=fix)


def refuse_split(val: str, train: str | None = None) -> None:
    """Raises `MissingInput` for validation data that name a split; with None for `train`, for training data."""
    path = Path(val)
    if (folder := _folder_of_split(path)) is None:
        return
    name, has_val = shlex.quote(str(folder)), any(folder.glob("val-*.bin"))
    taken = "the split val is taken" if has_val else "the split train is taken, since it has no split val"
    fix: Fix = f"name the folder: {name}, of which {taken}"
    if train is None:
        fix = f"name the folder: {name}, of which the split train is trained on, and val scored"
    elif train and Path(train).exists() and Path(train).samefile(folder) and has_val:
        fix = ("leave ", Argument("data.val"), f" out: the split val of {name} is taken")
    raise missing_path(val, fix)


def name_packed(text: Path, tokenizer: str | None = None) -> str:
    """The fix for a file that may be text: the command that packs it into a new folder.

    tokenizer: by default the one beside the text or in the working folder, `TOK` where there is none.
    """
    beside = (each for each in (text.with_name("tok.json"), Path("tok.json")) if each.is_file())
    near = tokenizer or next(beside, "TOK")
    packed = shlex.join(["slmtok", "pack", str(text), "-t", str(near), "-o", _free_folder("data")])
    return f"name packed data: {packed}" + ", if it is text" * (not _is_text(read_head(text)))


def _free_folder(name: str) -> str:
    """This name, or the first such as `data-2` that nothing has."""
    return next(each for each in chain([name], (f"{name}-{n}" for n in count(2))) if not os.path.lexists(each))


def _refuse_file_of_packed(file: Path) -> None:
    """Raises `UnsupportedFormat` for one file of packed data."""
    if is_file_of_packed(file):
        raise UnsupportedFormat(
            f"{file} is one file of packed data",
            where=str(file),
            limit="packed data are opened by their folder",
            fix=f"name the folder: {file.parent}",
        )


def _refuse_other_kind(file: Path, pack_options: str) -> None:
    """Raises `UnsupportedFormat` for a file that is neither ids nor text, which packing would read as a corpus.

    pack_options: those of the data that are meant; empty where nothing says them.
    """
    kind = None if file.suffix in ID_SUFFIXES else kind_of(file)
    if kind is None:
        return
    near = None if pack_options or kind == TOKENIZER else next(iter(sorted(Path().glob(f"*/{MANIFEST}"))), None)
    options = pack_options or f"-t {shlex.quote(str(file)) if kind == TOKENIZER else 'TOK'}"
    packed = f"name packed data: slmtok pack TEXT {options} -o DIR"
    raise UnsupportedFormat(
        f"{file.name} is {kind}, not a file of ids",
        where=str(file),
        limit=f"packed data, or {', '.join(ID_SUFFIXES)}",
        fix=packed if near is None else f"name packed data, such as {shlex.quote(str(near.parent))}",
    )


def refuse_text(file: Path, fix: Fix, tokenizer: str | None = None) -> None:
    """Raises `UnsupportedFormat` for a file that holds no ids, by its name or its head; `fix` is what a text needs.

    tokenizer: that of a text. `MissingInput` for a folder of texts.
    """
    _refuse_file_of_packed(file)
    _refuse_other_kind(file, "" if tokenizer is None else f"-t {shlex.quote(tokenizer)}")
    if file.is_file() and file.suffix not in ID_SUFFIXES:
        limit = f"packed data, or {', '.join(ID_SUFFIXES)}"
        raise UnsupportedFormat(f"{file.name} is not a file of ids", where=str(file), limit=limit, fix=fix)
    head = read_head(file) if file.suffix == ".bin" else b""
    if _is_text(head):
        raise UnsupportedFormat(f"{file.name} is text, not ids", where=str(file), fix=name_packed(file, tokenizer))
    if head.startswith(SHARD_MAGIC) and not (file.parent / MANIFEST).exists():
        raise UnsupportedFormat(
            f"{file.name} is one shard of packed data and cannot be read alone",
            where=str(file),
            limit="documents, tokenizer and digests are in other files of its folder",
            fix=f"copy the whole folder of {file.name}, and name it",
        )
    refuse_other_files(file, fix)


def _is_text(head: bytes) -> bool:
    """Whether the first bytes of a file are UTF-8 without control characters, which ids have in their upper bytes."""
    try:
        text = getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return len(head) >= _MIN_TEXT_BYTES and not _CONTROL.search(text)


@explains_indexing
class StageData(NamedTuple):
    """What a run trains on from a step on (from 1), in sequences of `seq_len`; None is that of the model."""

    from_step: int
    source: TokenSource
    seq_len: int | None


@explains_absent_names(OF_DATA)
@explains_indexing
@dataclass(frozen=True)
class RunData:
    """The data of a training run: two sources, their common vocabulary, and the files that a run gets."""

    train: TokenSource
    val: TokenSource | None
    vocab: VocabMeta
    tokenizer: bytes | None = None
    """The content of the tokenizer file; stored and never parsed."""
    vocab_json: bytes | None = None
    """The content of the `vocab.json`."""
    name: str = ""
    """The path or description given by the user, for messages."""
    stages: tuple[StageData, ...] = ()
    """Of a run whose data change on the way; `train` is that of the first."""

    def __post_init__(self) -> None:
        """Raises `Mismatch` where training and validation data were made with different tokenizers."""
        if self.val is not None:
            check_validation(self.name, _tokenizer_of(self.name), self.vocab, self.val)

    @property
    def n_train_ids(self) -> int:
        """Training ids of one epoch; of text that comes in several blocks, those of the first."""
        return int(self.train.block(0).lengths().sum())


_VAL_OF_TEXT = ("; or ", Argument("data.val", "TEXT"), ", which is read as the training text is")


def check_validation(name: str, tokenizer: str, vocab: VocabMeta, val: TokenSource) -> None:
    """Raises `Mismatch` for validation data of another tokenizer than the training data, which have this name and
    `tokenizer`, a file for a shell.
    """
    if val.vocab is None or val.vocab.fingerprint == vocab.fingerprint:
        return
    files = val.files()
    place = files[0][0].parent if files else "the validation data"
    packed = f"slmtok pack TEXT -t {tokenizer}{_flags_of(val)} --val none -o NEW"
    if val.packed_from and all(map(os.path.exists, val.packed_from)):
        packed = pack_again(val, shlex.split(tokenizer)[0])  # which divides the text as it was
    raise Mismatch(
        "training and validation data were made with different tokenizers",
        where=f"{name or 'the training data'}: {vocab.fingerprint[:8]}…, {place}: {val.vocab.fingerprint[:8]}…",
        fix=(
            "pack the validation text with the tokenizer of the training data, and name it by ",
            Argument("data.val", "NEW"),
            f": {packed}",
            *(() if Path(name).is_dir() else _VAL_OF_TEXT),
        ),
    )


_RULE = re.compile(r"0?\.\d+|\d+(\.\d+)?%|(tail|hash|files):.*")


_FEW_DOCUMENTS = 20
"""Below it, a rule that chooses by hash is replaced by the tail: it may choose none of them."""


def refuse_rule(val: str, command: str, train: str, has_few_documents: Callable[[], bool]) -> None:
    """Raises `MissingInput` for validation data that are a rule which divides documents: `command` packs by it."""
    if not _RULE.fullmatch(val) or Path(val).exists():
        return
    share = parse_share(val)
    rule = val if share is None else f"tail:{100 * share:.6g}%"
    if rule.startswith("hash:") and has_few_documents():
        rule = rule.replace("hash:", "tail:")
    raise MissingInput(
        f"no file or folder {val!r}: a rule divides documents where they are packed",
        where=f"the validation data of {train}",
        fix=(
            f"{command} --val {shlex.quote(rule)} -o NEW # and train on NEW without ",
            Argument("data.val"),
            ": its split val is taken",
        ),
        path=val,
    )


def _tokenizer_of(data: str) -> str:
    """The tokenizer file in a folder of packed data, for a shell; `TOK` where there is none."""
    file = Path(data) / "tok.json"
    return shlex.quote(str(file)) if file.is_file() else "TOK"


_RECORDS = re.compile(r".+\.(jsonl|ndjson|json|csv|tsv|parquet)(\.\w+)?", re.IGNORECASE)
"""The name of a file of records, compressed or not."""


def _flags_of(source: TokenSource, path: str | None = None) -> str:
    """The options of `slmtok pack` that cut the documents of a source, but the one that divides them.

    Of those for plain text and for records, the ones that `path`, another text, takes.
    """
    names = ["val"]
    if path is not None:
        files = [each.name for each in Path(path).iterdir()] if Path(path).is_dir() else [path]
        has_records = any(map(_RECORDS.fullmatch, files))
        names += ["separator", "document"] if has_records else ["format", "text-key", "text-template"]
    flags = re.sub(rf"--({'|'.join(names)}) (\$?'.*?'|\S+) ?", "", source.pack_flags).strip()
    return f" {flags}" if flags else ""


def open_data(train: str, val: str = "auto") -> RunData:
    """Packed data by path. `val` is `auto` (the split `val` of the same data, where it has one), `none`, or a path.

    Raises what `open_source` and `RunData` raise.
    """
    refuse_split(train)
    source = open_source(train, "train")
    text = shlex.join(source.packed_from) if all(map(os.path.exists, source.packed_from)) else ""
    packing = f"-t {_tokenizer_of(train)}"
    command = f"slmtok pack {text or 'CORPUS'} {packing}{_flags_of(source)}"
    refuse_rule(val, command, train, lambda: source.block(0).n_docs < _FEW_DOCUMENTS)
    held_out: FileSource | None = None
    if val not in ("auto", "none"):
        refuse_split(check_path("data.val", val), train)
        held_out = open_val_or_all(val, pack_options=packing + _flags_of(source, val))
    elif val == "auto":
        with suppress(NoSuchSplitError):
            held_out = open_source(train, "val")
    folder = Path(train) if Path(train).is_dir() else Path(train).parent
    tokenizer, vocab = folder / "tok.json", folder / "vocab.json"
    vocab_json = _read(vocab)
    if vocab_json is not None:
        # It is parsed again: the file may have changed since the source was opened.
        VocabMeta.parse(vocab_json, source=str(vocab)).require_same(source.vocab, "vocab.json", str(vocab))
    return RunData(source, held_out, source.vocab, _read(tokenizer), vocab_json, train)


def _read(path: Path) -> bytes | None:
    """The bytes of a file that goes into the run; None where there is none. Raises `CorruptFile` for a link."""
    refuse_link(path)
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError as error:
        raise unreadable(path, error) from error


def open_val_or_all(
    path: str | os.PathLike[str], *, vocab: VocabMeta | None = None, pack_options: str = "-t TOK"
) -> FileSource:
    """The split `val` of data; all of them where they are not divided. Raises what `open_source` raises.

    pack_options: those of `slmtok pack` with which a text becomes such data.
    """
    # Packed as a whole, a text is scored as a whole.
    pack_options += " --val none"
    _refuse_other_kind(Path(path), pack_options)
    name = _free_folder(f"{Path(path).stem}-val")
    packed = f"slmtok pack {shlex.quote(os.fspath(path))} {pack_options} -o {shlex.quote(name)}"
    refuse_text(Path(path), (packed, " in a shell, then ", Argument("data.val", name)))
    try:
        return open_source(path, "val", vocab=vocab)
    except NoSuchSplitError:
        return open_source(path, "train", vocab=vocab)
