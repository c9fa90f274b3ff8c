"""Parts shared by the look-alikes: training from texts, an encoder with raw ids, checks of arguments.

Raw ids are those of the imitated libraries and of the engine: a byte is its own value, merge k makes id 256 + k.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from numbers import Integral
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast
from unicodedata import category

from slmtok.calls import argument_text, explains_calls, warn_if_used_up
from slmtok.checks import (
    PRESENT_TEXTS,
    U64,
    check_int,
    check_output_name,
    check_path,
    is_missing,
    refuse_bool,
    texts_of_one,
    type_shown,
    utf8_of,
)
from slmtok.errors import (
    CorruptFile,
    MissingInput,
    OptionError,
    SlmtokError,
    UnknownId,
    UnknownSpecial,
    VocabularyTooSmall,
    WrongFormat,
    WrongType,
    value_text,
)
from slmtok.file_kinds import NAMES, TOKENIZER, kind_of_file
from slmtok.files import free_name
from slmtok.formats.foreign_files import TRAIN_OWN, train_own
from slmtok.path_arguments import MAX_NAMES, is_file_name, with_names
from slmtok.record_texts import short_text, texts_in
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


_ONE_ALGORITHM = "ByteLevelBPETokenizer, the one algorithm that slmtok has of these"
_PARTS = f"ByteLevelBPETokenizer().train(files, vocab_size=8192), which has these parts inside; or {TRAIN_OWN}"
ABSENT = {
    "SentencePieceTrainer": f"{TRAIN_OWN} trains one",
    "GPT4Tokenizer": "from slmtok.compat.tiktoken import get_encoding; get_encoding('cl100k_base') has its ids",
    "HuggingFaceTokenizer": "RustBPETokenizer.from_directory('DIR'), which has the same methods",
    "Tokenizer": "to read a file, slmtok.load('{TOK}'); to train, " + _PARTS,
    **dict.fromkeys(("decoders", "models", "normalizers", "pre_tokenizers", "processors", "trainers"), _PARTS),
    "BertWordPieceTokenizer": _ONE_ALGORITHM,
    "CharBPETokenizer": _ONE_ALGORITHM,
    "SentencePieceBPETokenizer": _ONE_ALGORITHM,
    "SentencePieceUnigramTokenizer": _ONE_ALGORITHM,
}
"""Names of other libraries that no adapter has, each with what stands for it; see `with_names`."""


def check_piece_id(id: int, n_vocab: int) -> int:
    """`id`, if it is one of the vocabulary. Raises `PieceOutOfRange`, `WrongType`."""
    refuse_bool(id)
    if not isinstance(id, Integral):
        fix = f"piece_to_id({short_text(id, 'piece')})" if isinstance(id, str) else "decode ids of encode"
        raise WrongType(f"a piece id is an integer, not {type(id).__name__} {value_text(id)}", fix=fix)
    if not 0 <= id < n_vocab:
        limit = f"0 <= id < {n_vocab}"
        raise PieceOutOfRange(
            f"piece id {value_text(id)} is out of range", limit=limit, fix="decode ids of encode", id=id
        )
    return id


def explain_adapter(module: dict[str, Any]) -> None:
    """Makes wrong calls of the names of an adapter (its `globals()`), and names that it lacks, errors with a remedy."""
    for name in module["__all__"]:
        if isinstance(module[name], (type, FunctionType)):
            module[name] = explains_calls(module[name])

    def absent(name: str) -> NoReturn:
        path = module["__name__"]
        if name in ABSENT:
            # `from ... import` shows no message of an `AttributeError`.
            raise ImportError(f"{path} has no {name!r}\n  fix:   {with_names(ABSENT[name])}", name=name)
        has = "" if name.startswith("_") else f"; it has {', '.join(module['__all__'])}"
        raise AttributeError(f"module {path!r} has no attribute {name!r}{has}", name=name)

    module["__getattr__"] = absent


def check_vocab_size(vocab_size: int, min_size: int = 256) -> int:
    """The number of merges of a vocabulary. Raises `VocabularyTooSmall`, `WrongType`, `OptionError`."""
    number = check_int("vocab_size", vocab_size, -U64, MAX_IDS)
    if number < min_size:
        raise VocabularyTooSmall(
            f"vocab_size {number} is below the minimum size",
            limit=f"{min_size} or more",
            fix=f"vocab_size={min_size + 1000}, for instance",
            n_vocab=number,
        )
    return number - min_size


def refuse_swapped(call: str, given: Mapping[str, object], kinds: Sequence[Any]) -> None:
    """Raises `WrongType` where each argument, by its name, has the type of one of `kinds`, in another order."""
    values = list(given.values())
    ordered = [next((each for each in values if isinstance(each, kind)), None) for kind in kinds]
    if all(each is not None for each in ordered) and not all(map(isinstance, values, kinds)):
        types = ", ".join(type(each).__name__ for each in values)
        meant = ", ".join(map(argument_text, ordered, given))
        raise WrongType(f"the arguments of {call} are {types}, in another order", fix=f"{call}({meant})")


def check_iterable(texts: object, call: str) -> Iterable[object]:
    """`texts`, if it is an iterable and no single text. Raises `WrongType`."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        given = texts_of_one(texts) if isinstance(texts, (str, bytes)) else "['some text']"
        raise WrongType(f"{call} takes an iterable of texts, not one {type(texts).__name__}", fix=f"{call}({given})")
    return texts


def checked_texts(texts: object, call: str) -> list[str]:
    """`texts` as a list of str, with a warning for an iterator that was read before. Raises `WrongType`."""
    found = list(map(check_str, check_iterable(texts, call)))
    warn_if_used_up(texts, len(found))
    return found


def training_text(text: object, vocab_size: object) -> str:
    """`text`, if it is one text to train on. Raises `WrongType`, also for the name of a file."""
    refuse_swapped("train", {"text": text, "vocab_size": vocab_size}, (str, int))
    if isinstance(text, (list, tuple)) and text and all(isinstance(each, str) for each in text):
        raise WrongType(
            f"train takes one text, not a {type(text).__name__}", fix=f"train('\\n'.join(texts), {vocab_size!r})"
        )
    if isinstance(text, (str, os.PathLike)) and is_file_name(text):
        name = os.fspath(text)
        raise WrongType(
            f"the text is the name of a file that exists: {name!r}",
            limit="train takes the text itself",
            fix=f"train(open({name!r}, encoding='utf-8').read(), {vocab_size!r})",
        )
    return check_str(text)


def training_texts(texts: object, vocab_size: object) -> Iterator[object]:
    """The texts of `train_from_iterator`. Raises `WrongType` for one text, and for the names of files."""
    given = {"texts": texts, "vocab_size": [vocab_size] if isinstance(vocab_size, str) else vocab_size}
    refuse_swapped("train_from_iterator", given, (Iterable, int))
    names = [texts] if isinstance(texts, (str, os.PathLike)) else texts
    iterator = iter(check_iterable(names, "train_from_iterator"))
    head = list(islice(iterator, 1))
    while head and len(head) < MAX_NAMES and is_file_name(head[-1]) and (more := list(islice(iterator, 1))):
        head += more
    if head and all(map(is_file_name, head)):
        paths = argument_text(list(map(os.fspath, names)), "paths") if isinstance(names, (list, tuple)) else "paths"
        raise WrongType(
            f"the texts are names of files that exist: {os.fspath(cast('str', head[0]))!r}",
            limit="train_from_iterator takes the texts themselves",
            fix=f"train_from_iterator((open(path, encoding='utf-8').read() for path in {paths}), {vocab_size!r})",
        )
    check_iterable(texts, "train_from_iterator")
    return chain(head, iterator)


def model_content(path: str | os.PathLike[str], format: str) -> dict[str, Any]:
    """The content of a file that `save` of minbpe's classes wrote.

    Raises `CorruptFile`, `MissingInput`, `WrongType`.
    """
    name = check_path(path)
    if kind_of_file(name) == TOKENIZER:
        raise WrongFormat(f"{name!r} is {NAMES[TOKENIZER]}, not a model of minbpe", fix=f"slmtok.load({name!r})")
    if not name.endswith(".model"):
        model = f"{name.removesuffix('.vocab')}.model"
        fix = f"load({model!r})"
        if not os.path.isfile(model):  # noqa: PTH113  (false for names that the system refuses)
            fix = "train(text, 1024) and save('tok'), then load('tok.model')"
        raise WrongType(f"{name!r} does not end in .model", limit="a file that save wrote", fix=fix)
    if not os.path.isfile(name) and os.path.isfile(f"{name}.model"):  # noqa: PTH113
        fix = f"load({f'{name}.model'!r})"
        raise MissingInput(f"no file {name!r}", limit="save adds .model to its name", fix=fix, path=name)
    try:
        content: Any = json.loads(read_bytes(name))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (format, 1):
        limit, fix = "minbpe's own files are not read", "train again, and save with this class"
        raise CorruptFile(f"{name!r} is not a model that this class saved", limit=limit, fix=fix, path=name)
    return content


def check_str(text: object) -> str:
    """`text`, if it is a `str`. Raises `WrongType`."""
    if not isinstance(text, str):
        fix = "data.decode() for bytes"
        if isinstance(text, (int, float)):
            fix = f"str({short_text(text, 'number')}), if it is text"
        elif isinstance(text, (list, tuple)):
            fix = "[tok.encode(text) for text in texts]"
        if isinstance(text, os.PathLike):
            fix = "path.read_text(encoding='utf-8')"
        elif isinstance(text, Mapping):
            fix = texts_in([text], brackets=True) or "give texts, not records"
        elif is_missing(text):
            fix = PRESENT_TEXTS
        raise WrongType(f"text must be str, not {type_shown(text)}", fix=fix)
    return text


def check_spelling(text: object) -> str:
    """`text`, if it may spell a special token. Raises `WrongType`, `InvalidText`."""
    utf8_of(check_str(text), "a special token")
    return cast("str", text)


def make_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder, which is created. Raises `WrongType`, `OptionError` for a name that no folder has."""
    check_output_name(name := check_path(folder))
    Path(name).mkdir(parents=True, exist_ok=True)
    return Path(name)


def with_ids(spellings: object, first: int) -> str:
    """The dict of special tokens that are given without ids, else of an example, with ids from `first` on."""
    listed = [spellings] if isinstance(spellings, str) else spellings
    is_listed = isinstance(listed, (list, tuple)) and all(isinstance(each, str) for each in listed)
    texts = cast("list[str]", listed) if is_listed else ["<|endoftext|>"]
    return repr({text: first + number for number, text in enumerate(dict.fromkeys(texts))})


def spelling_of(token: object) -> str:
    """The spelling of a special token: a `str`, or the content of an `AddedToken`. Raises `WrongType`."""
    return check_str(getattr(token, "content", token))


def printable(token: bytes) -> str:
    """The text of a token, control characters as `\\u000a`."""
    text = token.decode("utf-8", "replace")
    return "".join(f"\\u{ord(char):04x}" if category(char).startswith("C") else char for char in text)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """All bytes of a file. Raises `MissingInput`, `Unreadable`."""
    from slmtok.files import read_file, refuse_text

    refuse_text(name := check_path(path))
    file = Path(name)
    return read_file(file, file.stat().st_size if file.is_file() else 0)


class UnknownToken(UnknownId, ValueError):  # noqa: N818
    """An unknown id; a `ValueError`, as in rustbpe."""


class PieceOutOfRange(UnknownId, IndexError):  # noqa: N818
    """An unknown id; an `IndexError`, as in SentencePiece."""


def unknown_id(id: object, n_vocab: int) -> UnknownId:
    """The error for an id that is not in the vocabulary."""
    return UnknownId(
        f"id {value_text(id)} is not in the vocabulary",
        limit=f"0 <= id < {n_vocab}",
        fix="decode ids that encode returned",
        id=id,
    )


def check_out_type(out_type: object) -> type:
    """SentencePiece's `out_type` as int or str. Raises `OptionError`."""
    if out_type not in (int, str):
        fix = "out_type=str" if isinstance(out_type, str) and re.search("piece|str", out_type) else "out_type=int"
        limit = "int, str for pieces"
        raise OptionError(f"out_type={value_text(out_type)} is not offered", limit=limit, fix=fix, option="out_type")
    return str if out_type is str else int


_SPACE = "\u2581"
"""How SentencePiece writes a space in a piece."""


def find_piece(tokenizer: Tokenizer, piece: object) -> int | None:
    """The id of a piece of SentencePiece: its text, `<0xE2>` for bytes, or a text with spaces for `▁`; else None.

    Raises `WrongType` for a piece that is no text.
    """
    if not isinstance(piece, str):
        fix = f"id_to_piece({short_text(int(piece), 'id')})" if isinstance(piece, Integral) else "str(piece)"
        raise WrongType(f"a piece is a str, not {type(piece).__name__}", fix=fix)
    data = utf8_of(piece, "the piece", handler="surrogateescape")
    if re.fullmatch(rb"(?:<0x[0-9A-F]{2}>)+", data):
        data = bytes(int(pair, 16) for pair in re.findall(rb"0x(..)", data))
    found = tokenizer.specials.spellings.get(piece, tokenizer.token_id(data))
    return find_piece(tokenizer, piece.replace(_SPACE, " ")) if found is None and _SPACE in piece else found


def decode_pieces(tokenizer: Tokenizer, given: Any) -> Any:
    """The text of ids and pieces without specials, or the texts of several lists of these.

    An unknown piece is its own text, as in SentencePiece. Raises `PieceOutOfRange`, `WrongType`.
    """
    if isinstance(given, (Integral, str)):
        given = [given]
    if isinstance(given, Mapping) or not hasattr(given, "__getitem__"):
        fix = "decode(list(ids))" if isinstance(given, Iterable) else "decode(sp.encode('some text'))"
        raise WrongType(f"decode takes ids or pieces, not {type(given).__name__}", fix=fix)
    if given and isinstance(given[0], (list, tuple)):
        return [decode_pieces(tokenizer, row) for row in given]
    items = [item if isinstance(item, str) else check_piece_id(item, tokenizer.n_vocab) for item in given]
    found = [find_piece(tokenizer, item) if isinstance(item, str) else item for item in items]
    if None not in found:
        return tokenizer.decode([id for id in found if id is not None], skip_special=True)
    parts = [
        utf8_of(str(item).replace(_SPACE, " "), "the piece", handler="surrogateescape")
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
    except (MissingInput, CorruptFile) as error:
        if str(path).endswith(".model"):
            error.limit = "a tokenizer file of slmtok; the models of SentencePiece are not read"
            own = free_name(os.path.splitext(str(path))[0] + ".json")  # noqa: PTH122
            error.fix = f"train one: {train_own(own)}, and name {own!r}"
            if isinstance(error, CorruptFile):
                fact, name = f"{path} is not a tokenizer file of slmtok", str(path)
                raise WrongFormat(fact, where=name, limit=error.limit, fix=error.fix, path=name) from None
        raise


def read_folder(folder: str | os.PathLike[str], name: str, bos: str) -> Tokenizer:
    """The tokenizer file `name` of a folder, with a special spelled `bos`. Raises `MissingInput`, `UnknownSpecial`."""
    from slmtok.files import refuse_text, similar_file

    refuse_text(place := check_path(folder))
    path = Path(place) / name
    if path.parent.is_file():
        file = path.parent
        fix = f"RustBPETokenizer(slmtok.load({str(file)!r}), '<s>')"
        if file.name == name:
            fix = f"RustBPETokenizer.from_directory({str(file.parent)!r})"
        raise WrongType(f"{str(file)!r} is a file, not a folder", limit=f"a folder with {name}", fix=fix)
    try:
        tokenizer = read_tokenizer(path)
        tokenizer.specials.find(bos)
    except MissingInput as error:
        error.limit = f"a folder with {name}, as RustBPETokenizer.save writes it"
        other = _call_with_tokenizer(path.parent, bos)
        made = f"RustBPETokenizer.train_from_iterator(texts, vocab_size=32768).save({str(folder)!r})"
        error.fix = similar_file(path.parent) if not path.parent.exists() else None
        error.fix = error.fix or other or made
        raise
    except UnknownSpecial as error:
        error.where = str(path)
        error.fix = _wrapped(tokenizer, path, bos)
        raise
    return tokenizer


def _wrapped(tokenizer: Tokenizer, path: Path, bos: str) -> str:
    """The call that wraps a tokenizer, with the spelling of its `bos` where that is another."""
    loaded = f"slmtok.load({str(path)!r})"
    if bos in tokenizer.specials.spellings:
        return f"RustBPETokenizer({loaded})"
    if "bos" in tokenizer.specials:
        return f"RustBPETokenizer({loaded}, {tokenizer.specials.text('bos')!r})"
    if call := tokenizer.specials.call_with({"bos": bos}):
        return f"RustBPETokenizer({loaded}{call.removeprefix('tok')})"
    # Without a reserved id, a special that is there begins the documents.
    return f"RustBPETokenizer({', '.join([loaded, *map(repr, [*tokenizer.specials.spellings][:1])])})"


def _call_with_tokenizer(folder: Path, bos: str) -> str | None:
    """The call for the first file of a folder that is a tokenizer; None without one."""
    from slmtok.formats.importing import import_file

    for path in sorted(folder.glob("*.json")):
        with suppress(SlmtokError):
            return _wrapped(read_tokenizer(path), path, bos)
        with suppress(SlmtokError):
            return _wrapped(import_file(path, origin="hf", verify=False)[0], path, bos)
    return None
