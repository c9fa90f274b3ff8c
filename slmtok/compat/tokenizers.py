"""`ByteLevelBPETokenizer` of Hugging Face's `tokenizers` on our engine.

As there: GPT-2's pattern, its trainer's tie-break rule, `min_frequency` 2, tokens named in GPT-2's characters, None for
unknown names. Intended differences: `vocab_size` is the final total and includes our 16 special tokens, of which the
given ones take a role or a reserved id; a corpus with too few pairs gives fewer ids; text that spells a special token
is text; `save` writes our file (`slmtok import` reads `tokenizer.json`). Padding and truncation are arguments of
`as_hf(tok)`; docs/guide/hugging-face.md lists what is not offered.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from slmtok.calls import Expression, call_text
from slmtok.checks import as_list, check_int, check_path, utf8_of
from slmtok.compat import as_hf
from slmtok.compat._hf_rows import Alignment, Frame, Inputs, Plan, make_rows, parse_inputs
from slmtok.compat._shared import (
    check_iterable,
    check_str,
    explain_adapter,
    read_bytes,
    refuse_swapped,
    spelling_of,
    training_texts,
)
from slmtok.errors import CorruptFile, InvalidSpecials, MissingInput, WrongType
from slmtok.files import mention_texts
from slmtok.id_arrays import check_row
from slmtok.notebook import html_tokens
from slmtok.path_arguments import with_names
from slmtok.record_texts import short_text
from slmtok.tokenizer import Tokenizer as _Tokenizer

if TYPE_CHECKING:
    from slmtok.compat.hf import HFTokenizer
    from slmtok.id_arrays import StreamDecoder

__all__ = ["ByteLevelBPETokenizer", "DecodeStream", "Encoding"]

_parse = partial(parse_inputs, call=("encode_batch", "is_pretokenized"))
_ROLES = {
    "<unk>": "unk", "[UNK]": "unk", "<s>": "bos", "[CLS]": "bos", "<|startoftext|>": "bos",
    "</s>": "eos", "<|endoftext|>": "eos", "<eos>": "eos", "<bos>": "bos", "<pad>": "pad", "[PAD]": "pad",
    "[SEP]": "sep", "<mask>": "mask", "[MASK]": "mask",
}  # fmt: skip
"""Usual spellings of our roles; all others take reserved ids, in order."""


@dataclass(frozen=True)
class Encoding:
    """The result of `encode`: ids, their names, their (start, end) in characters of their text, and that text: 0 or 1.

    Offsets and words count from the start of the first or the second text.
    """

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    type_ids: list[int]
    word_ids: list[int | None] = field(repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    def _repr_html_(self) -> str:
        return html_tokens(f"Encoding of {len(self)} ids", [(self.tokens, self.ids)])

    @property
    def attention_mask(self) -> list[int]:
        """1 for each id, as nothing is padded."""
        return [1] * len(self.ids)

    @property
    def special_tokens_mask(self) -> list[int]:
        """0 for each id, as no special token is added."""
        return [0] * len(self.ids)

    @property
    def sequence_ids(self) -> list[int]:
        """The text of each id: 0 or 1."""
        return self.type_ids


class ByteLevelBPETokenizer:
    """A tokenizer under those names; `tokenizer` is the wrapped one."""

    def __init__(self, tokenizer: _Tokenizer | None = None, *more: object, **unknown: object) -> None:
        """tokenizer: the wrapped one; files are read by `from_file`. Raises `WrongType`."""
        if more or unknown or not (tokenizer is None or isinstance(tokenizer, _Tokenizer)):
            raise _not_wrapped(tokenizer, more, unknown)
        self._tokenizer = tokenizer
        self._view: HFTokenizer | None = None

    def __getattr__(self, name: str) -> NoReturn:
        cuts = "; slmtok.compat.as_hf(x.tokenizer)(texts, padding=True, truncation=True, max_length=512) pads and cuts"
        hint = cuts if name.endswith(("_padding", "_truncation")) else ""
        raise AttributeError(f"ByteLevelBPETokenizer has no {name!r}{hint}", name=name, obj=None if hint else self)

    @property
    def tokenizer(self) -> _Tokenizer:
        """The wrapped tokenizer. Raises `MissingInput` before one is trained or loaded."""
        if self._tokenizer is None:
            raise MissingInput(
                "no tokenizer is trained or loaded",
                where="ByteLevelBPETokenizer",
                fix=with_names("train_from_iterator(texts, vocab_size=8192), or from_file('{TOK}')"),
            )
        return self._tokenizer

    def train_from_iterator(
        self,
        iterator: Iterable[str] | Iterable[Sequence[str]],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: Sequence[Any] = (),
        length: int | None = None,
        max_token_length: int | None = None,
    ) -> None:
        """Trains on texts, or on batches of texts.

        special_tokens: spellings or `AddedToken`; `<s>`, `</s>`, `<pad>` and the like take our roles, others reserved
        ids.
        max_token_length: in bytes; None is no limit. show_progress and length have no effect.
        Raises `VocabularyTooSmall`, `InvalidSpecials`, `WrongType`.
        """
        self._train(_flat(training_texts(iterator, vocab_size)), vocab_size, min_frequency, special_tokens,
                    max_token_length)  # fmt: skip

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: Sequence[Any] = (),
        max_token_length: int | None = None,
    ) -> None:
        """Trains on text files, one document a line. Raises `MissingInput`, and as `train_from_iterator`."""
        refuse_swapped("train", {"files": files, "vocab_size": vocab_size}, ((str, list, tuple), int))
        paths = [files] if isinstance(files, (str, os.PathLike)) else list(check_iterable(files, "train"))
        try:
            self._train(paths, vocab_size, min_frequency, special_tokens, max_token_length)
        except MissingInput as error:
            given: dict[str, Any] = {"min_frequency": min_frequency} if min_frequency != 2 else {}
            given |= {"special_tokens": special_tokens} if special_tokens != () else {}
            given |= {"max_token_length": max_token_length} if max_token_length is not None else {}
            texts = Expression("[text]" if isinstance(files, str) else "[texts]")
            call = call_text("train_from_iterator", [texts], {"vocab_size": vocab_size, **given})
            fix = f"{call}, if they are texts; else check the names"
            mention_texts(error, paths, fix, fix)
            raise

    def _train(self, corpus: Any, vocab: int, min_count: int, special: Sequence[Any], max_length: int | None) -> None:
        from slmtok.training.api import train

        self._tokenizer = train(
            corpus,
            vocab_size=vocab,
            pattern="gpt2",
            tie_break="hf",
            min_count=max(check_int("min_frequency", min_count), 1),
            max_token_bytes=max_length or 0,
            special=_roles(special),
            allow_smaller=True,
            document="line" if isinstance(corpus, list) else "file",
        )

    @classmethod
    def from_file(
        cls, vocab_filename: str | os.PathLike[str], merges_filename: str | os.PathLike[str] | None = None
    ) -> ByteLevelBPETokenizer:
        """A tokenizer file of ours, or the two files of `save_model`, `vocab.json` and `merges.txt`.

        Of the two files, a name that is neither a byte nor the result of a merge is a special token. Raises
        `MissingInput`, `CorruptFile`, and `Inexpressible` for merges that are not in the order of their ids.
        """
        from slmtok.tokenizer import read_tokenizer

        return cls(
            read_tokenizer(vocab_filename) if merges_filename is None else _read_model(vocab_filename, merges_filename)
        )

    @classmethod
    def from_str(cls, json: str) -> ByteLevelBPETokenizer:
        """Reads the result of `to_str`. Raises `CorruptFile`."""
        return cls(_Tokenizer.from_bytes(utf8_of(check_str(json), handler="surrogateescape")))

    def to_str(self, pretty: bool = False) -> str:
        """The text of the tokenizer file; `pretty` has no effect."""
        return self.tokenizer.to_bytes().decode()

    def save(self, path: str | os.PathLike[str], pretty: bool = True) -> None:
        """Writes the tokenizer file, replacing an existing one. Raises `DiskFull`."""
        self.tokenizer.save(path, force=True)

    def save_model(self, directory: str | os.PathLike[str], prefix: str | None = None) -> list[str]:
        """Writes `vocab.json` and `merges.txt` in GPT-2's format and returns their paths; existing ones are replaced.

        prefix: the files are `prefix-vocab.json` and `prefix-merges.txt`. Raises `Inexpressible`, `DiskFull`.
        """
        from slmtok import atomic
        from slmtok.formats import hf

        hf.check(self.tokenizer)
        vocab = {name: id for id, name in hf.names_by_id(self.tokenizer.vocabulary).items()}
        merges = ["#version: 0.2", *map(" ".join, hf.tokenizer_json(self.tokenizer)["model"]["merges"])]
        folder = Path(check_path(directory))
        paths = [folder / f"{prefix + '-' if prefix else ''}{name}" for name in ("vocab.json", "merges.txt")]
        atomic.write(paths[0], json.dumps(vocab, ensure_ascii=False).encode(), force=True)
        atomic.write(paths[1], ("\n".join(merges) + "\n").encode(), force=True)
        return list(map(str, paths))

    def encode(
        self,
        sequence: str | Sequence[str],
        pair: str | Sequence[str] | None = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Encodes a text, or a pair, without special tokens around it: this tokenizer has no template.

        is_pretokenized: a text is a list of words. Raises `WrongType`.
        """
        if isinstance(sequence, (list, tuple)) and not is_pretokenized:
            texts = short_text(sequence, "texts")
            fix = f"encode_batch({texts}), or encode({texts}, is_pretokenized=True) for words"
            raise WrongType(f"a {type(sequence).__name__} is not one text", fix=fix)
        return self._encode(_parse([sequence], None if pair is None else [pair], split=is_pretokenized))[0]

    def encode_batch(
        self, inputs: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encodes several texts or (text, pair) tuples."""
        texts = list(check_iterable(inputs, "encode_batch"))
        return self._encode(_parse(texts, None, split=is_pretokenized)) if texts else []

    def _encode(self, inputs: Inputs) -> list[Encoding]:
        rows = make_rows(self.tokenizer, inputs, Plan(), Frame(), overflow=False, threads=0)
        ids = rows.ids()
        alignment = Alignment(rows, ids, "right")
        columns = zip(ids, map(self._hf.convert_ids_to_tokens, ids), rows.offsets(), rows.type_ids(), strict=True)
        return [Encoding(*columns, alignment.words(row)) for row, columns in enumerate(columns)]

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of ids. Raises `UnknownId`."""
        return self.tokenizer.decode(ids, skip_special=skip_special_tokens)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """The texts of several rows of ids. Raises `UnknownId`."""
        rows = check_iterable(sequences, "decode_batch")
        return [self.decode(ids, skip_special_tokens) for ids in cast("Iterable[Any]", rows)]

    @property
    def _hf(self) -> HFTokenizer:
        if self._view is None or self._view.tokenizer is not self.tokenizer:
            self._view = as_hf(self.tokenizer)
        return self._view

    def token_to_id(self, token: str) -> int | None:
        """The id of a name; None for an unknown name."""
        return self._hf.token_to_id(token)

    def id_to_token(self, id: int) -> str | None:
        """The name of an id; None for an unknown id."""
        return self._hf.id_to_token(id)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Name -> id."""
        return self._hf.get_vocab()

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """The number of ids, special tokens included."""
        return self.tokenizer.n_vocab


class DecodeStream:
    """Streaming decoding: `step` returns the text that is complete, None if there is none."""

    def __init__(self, ids: Sequence[int] | None = None, skip_special_tokens: bool = False) -> None:
        """ids: those before the first step, whose text is not returned."""
        self._prefix = as_list(check_row(() if ids is None else ids))
        self._skip = skip_special_tokens
        self._stream: StreamDecoder | None = None

    def step(self, tokenizer: ByteLevelBPETokenizer, id: int | Sequence[int]) -> str | None:
        """The text that this id, or these ids, complete. Raises `UnknownId`."""
        if self._stream is None:
            self._stream = tokenizer.tokenizer.stream()
            self._push(tokenizer, self._prefix)
        return self._push(tokenizer, id if isinstance(id, Iterable) else [id]) or None

    def _push(self, tokenizer: ByteLevelBPETokenizer, ids: Iterable[int]) -> str:
        assert self._stream is not None
        skipped = tokenizer.tokenizer.specials.values() if self._skip else ()
        return "".join([self._stream.push(id) for id in ids if id not in skipped])


def _not_wrapped(vocab: object, more: Sequence[object], unknown: Mapping[str, object]) -> WrongType:
    """The error for the arguments of the class of `tokenizers`; its fix reads the files that they name."""
    given = {**dict(zip(("vocab", "merges"), (vocab, *more), strict=False)), **unknown}
    first, second = given.pop("vocab"), given.pop("merges", None)
    files = [os.fspath(each) for each in (first, second) if isinstance(each, (str, os.PathLike))]
    # The vocabulary is the first, whatever the order was.
    files.sort(key=lambda path: path.endswith(".txt"))
    text = ", ".join(map(repr, files or ["vocab.json", "merges.txt"]))
    if given:
        fact = f"ByteLevelBPETokenizer has no option {next(iter(given))!r}"
    elif len(more) > 1 or isinstance(first, _Tokenizer):
        fact = f"ByteLevelBPETokenizer takes one argument, not {len(more) + 1}"
    else:
        fact = f"ByteLevelBPETokenizer takes a Tokenizer, not {type(second if first is None else first).__name__}"
    is_ours = isinstance(first, _Tokenizer) or (first is None and second is None)
    wrapped = f"ByteLevelBPETokenizer({'' if first is None else 'tok'})"
    return WrongType(
        fact,
        limit="a Tokenizer, or none before training; text is split as by GPT-2 and changed in no way",
        fix=wrapped if is_ours else f"ByteLevelBPETokenizer.from_file({text})",
    )


def _read_model(vocab_path: str | os.PathLike[str], merges_path: str | os.PathLike[str]) -> _Tokenizer:
    """The tokenizer of a `vocab.json` and a `merges.txt`."""
    from slmtok.formats.hf import read

    path = vocab_path
    try:
        vocab = dict(json.loads(read_bytes(path)))
        path = merges_path
        lines = read_bytes(path).decode().splitlines()
        merges = [(left, right) for left, right in (line.split(" ") for line in lines if line[:9] != "#version:")]
    except (ValueError, TypeError) as error:
        fix = "from_file('vocab.json', 'merges.txt'), as save_model writes them"
        if str(vocab_path).endswith(".txt") and str(merges_path).endswith(".json"):
            fix = f"from_file({str(merges_path)!r}, {str(vocab_path)!r}): the vocabulary is the first"
        raise CorruptFile(f"{str(path)!r} is not in GPT-2's format: {error}", fix=fix, path=str(path)) from None
    made = {left + right for left, right in merges}
    specials = [{"id": id, "content": name} for name, id in vocab.items() if len(name) > 1 and name not in made]
    step = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
    model = {"type": "BPE", "vocab": vocab, "merges": merges}
    document = {"added_tokens": specials, "pre_tokenizer": step, "model": model}
    return read(json.dumps(document).encode(), str(vocab_path))


def _flat(texts: Iterable[object]) -> Iterable[str]:
    for one in texts:
        yield from map(check_str, one) if isinstance(one, (list, tuple)) else (check_str(one),)


def _roles(spellings: Sequence[Any]) -> dict[str, str]:
    """Role -> spelling. Raises `InvalidSpecials` for two spellings of one role."""
    found: dict[str, str] = {}
    for text in map(spelling_of, check_iterable(spellings, "special_tokens")):
        role = _ROLES.get(text) or re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or f"special_{len(found)}"
        role = role if role[0].isalpha() else f"special_{role}"
        if role in found:
            raise InvalidSpecials(
                f"{found[role]!r} and {text!r} are both the special {role!r}",
                where="special_tokens",
                limit="one spelling a role",
                fix=f"leave {text!r} out",
                role=role,
            )
        found[role] = text
    return found


explain_adapter(globals())
