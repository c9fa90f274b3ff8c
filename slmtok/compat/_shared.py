"""Parts shared by the look-alikes: training from texts, an encoder with raw ids, checks of arguments.

Raw ids are those of the imitated libraries and of the engine: a byte is its own value, merge k makes id 256 + k.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from unicodedata import category

from slmtok.checks import U64, check_int, check_path
from slmtok.errors import MissingInput, OptionError, UnknownId, UnknownSpecial, VocabularyTooSmall, WrongType
from slmtok.record_texts import texts_in
from slmtok.tokenizer import Tokenizer, read_tokenizer
from slmtok.vocabulary import MAX_IDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok._engine import Encoder, Pattern


def learn_merges(
    texts: Iterable[str | bytes],
    n_merges: int,
    pattern: Pattern,
    *,
    tie_break: Literal["rank", "bytes-greatest", "hf"] = "rank",
    buffer_size: int = 8192,
) -> list[tuple[int, int]]:
    """The merges of texts, counted `buffer_size` at a time; minimum count 1, no limit of token length."""
    from slmtok import _engine

    counter = _engine.Counter(pattern)
    iterator = iter(texts)
    while chunk := list(islice(iterator, buffer_size)):
        counter.feed(chunk)
    result = _engine.train(counter.finish(), n_merges, tie_break=tie_break, min_count=1)
    return [(left, right) for left, right in result.merges.tolist()]


def raw_encoder(pattern: Pattern, merges: Sequence[tuple[int, int]]) -> Encoder:
    """An encoder with raw ids."""
    import numpy as np

    from slmtok._engine import Encoder

    table = np.array(merges, dtype=np.uint32).reshape(-1, 2)
    return Encoder.from_merges(pattern, table, np.arange(256 + len(merges), dtype=np.uint32))


def split_rows(ids: NDArray[np.unsignedinteger], offsets: NDArray[np.int64]) -> list[list[int]]:
    """The rows of a batch as lists; row i is `ids[offsets[i]:offsets[i + 1]]`."""
    flat, ends = ids.tolist(), offsets.tolist()
    return [flat[start:end] for start, end in zip(ends, ends[1:], strict=False)]  # noqa: RUF007 (a list is faster)


def check_vocab_size(vocab_size: int, min_size: int = 256) -> int:
    """The number of merges of a vocabulary. Raises `VocabularyTooSmall`, `WrongType`, `OptionError`."""
    number = check_int("vocab_size", vocab_size, -U64, MAX_IDS)
    if number < min_size:
        raise VocabularyTooSmall(
            f"vocab_size {number} is below the minimum size",
            limit=f"{min_size} or more",
            fix=f"vocab_size={min_size + 1000}",
            n_vocab=number,
        )
    return number - min_size


def check_iterable(texts: object, call: str) -> Iterable[object]:
    """`texts`, if it is an iterable and no single text. Raises `WrongType`."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise WrongType(f"{call} takes an iterable of texts, not one {type(texts).__name__}", fix=f"{call}([text])")
    return texts


def check_str(text: object) -> str:
    """`text`, if it is a `str`. Raises `WrongType`."""
    if not isinstance(text, str):
        fix = "encode_batch(texts)" if isinstance(text, (list, tuple)) else "data.decode() for bytes"
        if isinstance(text, Mapping):
            fix = texts_in([text], brackets=True) or "give texts, not records"
        raise WrongType(f"text must be str, not {type(text).__name__}", fix=fix)
    return text


def spelling_of(token: object) -> str:
    """The spelling of a special token: a `str`, or the content of an `AddedToken`. Raises `WrongType`."""
    return check_str(getattr(token, "content", token))


def printable(token: bytes) -> str:
    """The text of a token, control characters as `\\u000a`."""
    text = token.decode("utf-8", "replace")
    return "".join(f"\\u{ord(char):04x}" if category(char).startswith("C") else char for char in text)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """All bytes of a file. Raises `MissingInput`, `Unreadable`."""
    from slmtok.files import read_file

    file = Path(check_path(path))
    return read_file(file, file.stat().st_size if file.is_file() else 0)


class UnknownToken(UnknownId, ValueError):  # noqa: N818
    """An unknown id; a `ValueError`, as in rustbpe."""


class PieceOutOfRange(UnknownId, IndexError):  # noqa: N818
    """An unknown id; an `IndexError`, as in SentencePiece."""


def unknown_id(id: object, n_vocab: int) -> UnknownId:
    """The error for an id that is not in the vocabulary."""
    return UnknownId(
        f"id {id} is not in the vocabulary", limit=f"0 <= id < {n_vocab}", fix="decode ids that encode returned", id=id
    )


def check_out_type(out_type: object) -> type:
    """SentencePiece's `out_type` as int or str. Raises `OptionError`."""
    if out_type not in (int, str, "int", "str"):
        raise OptionError(f"out_type={out_type!r} is not offered", limit="int, str", fix="int", option="out_type")
    return str if out_type in (str, "str") else int


_SPACE = "\u2581"
"""How SentencePiece writes a space in a piece."""


def find_piece(tokenizer: Tokenizer, piece: str) -> int | None:
    """The id of a piece of SentencePiece: its text, `<0xE2>` for bytes, or a text with spaces for `▁`; else None."""
    data = piece.encode("utf-8", "surrogateescape")
    if re.fullmatch(rb"(?:<0x[0-9A-F]{2}>)+", data):
        data = bytes(int(pair, 16) for pair in re.findall(rb"0x(..)", data))
    found = tokenizer.specials.spellings.get(piece, tokenizer.token_id(data))
    return find_piece(tokenizer, piece.replace(_SPACE, " ")) if found is None and _SPACE in piece else found


def decode_pieces(tokenizer: Tokenizer, items: Sequence[int | str]) -> str:
    """The text of ids and pieces without specials; an unknown piece is its own text, as in SentencePiece."""
    found = [find_piece(tokenizer, item) if isinstance(item, str) else item for item in items]
    if None not in found:
        return tokenizer.decode([id for id in found if id is not None], skip_special=True)
    parts = [
        str(item).replace(_SPACE, " ").encode("utf-8", "surrogateescape")
        if id is None
        else tokenizer.decode_bytes([id], skip_special=True)
        for id, item in zip(found, items, strict=True)
    ]
    return b"".join(parts).decode("utf-8", "replace")


def read_model(path: str | os.PathLike[str] | Tokenizer) -> Tokenizer:
    """A tokenizer file of ours under the name of a model of SentencePiece, or a loaded tokenizer as it is.

    Raises `MissingInput`, `CorruptFile`.
    """
    if isinstance(path, Tokenizer):
        return path
    try:
        return read_tokenizer(path)
    except MissingInput as error:
        if str(path).endswith(".model"):
            error.limit = "a tokenizer file of slmtok; the models of SentencePiece are not read"
            error.fix = "train one: slmtok.train('corpus.txt', vocab_size=8192).save('tok.json'), and name 'tok.json'"
        raise


def read_folder(folder: str | os.PathLike[str], name: str, bos: str) -> Tokenizer:
    """The tokenizer file `name` of a folder, with a special spelled `bos`. Raises `MissingInput`, `UnknownSpecial`."""
    from slmtok.files import similar_file

    path = Path(check_path(folder, "tokenizer")) / name
    try:
        tokenizer = read_tokenizer(path)
        tokenizer.specials.find(bos)
    except MissingInput as error:
        error.limit = f"a folder with {name}, as RustBPETokenizer.save writes it"
        other = next(iter(sorted(path.parent.glob("*.json"))), None)
        made = f"RustBPETokenizer.train_from_iterator(texts, vocab_size=32768).save({str(folder)!r})"
        error.fix = similar_file(path.parent) if not path.parent.exists() else None
        error.fix = error.fix or (f"RustBPETokenizer(slmtok.load({str(other)!r}), BOS)" if other else made)
        raise
    except UnknownSpecial as error:
        error.where = str(path)
        spelled = tokenizer.specials.text("bos") if "bos" in tokenizer.specials else None
        loaded = f"slmtok.load({str(path)!r})"
        error.fix = (
            f"RustBPETokenizer({loaded}, {spelled!r})"
            if spelled
            else f"RustBPETokenizer({loaded}.with_special('bos', {bos!r}))"
        )
        raise
    return tokenizer
