"""`Tokenizer`: text to ids and back. Immutable; everything it does is a function of its file's bytes.

It joins a `Vocabulary` to the compiled engine. Options are arguments of the call: nothing is switched on and
remembered. Ids come as read-only numpy arrays (uint16 where n_vocab <= 65536, else uint32), as Python lists only on
request. Text is `str` or anything bytes-like; a spelling of a special token is ordinary text unless the call names
it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, final

from slmtok import arguments, golden, id_files, id_rows, segment_coding, special_text
from slmtok.described import Described
from slmtok.errors import SlmtokError, WrongType
from slmtok.offsets import byte_spans, char_spans
from slmtok.patterns import compile_pattern
from slmtok.ragged import Ragged
from slmtok.schemes import SCHEMES
from slmtok.segments import Segment, Segments, Special
from slmtok.streaming import StreamDecoder
from slmtok.tokenizer_file import PROVENANCE, TokenizerFile
from slmtok.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok.aliases import Ids, Progress, Text
    from slmtok.compat.hf import HFTokenizer
    from slmtok.compat.tiktoken import Encoding
    from slmtok.training.counts import PretokenCounts
    from slmtok.training.feed import Corpus
    from slmtok.training.surgery import Pruned

_Path = str | os.PathLike[str]


@final
class Tokenizer(Described):
    """A vocabulary that encodes. Made by `slmtok.train`, `slmtok.load` and `slmtok.from_tiktoken`.

    Two are equal when their files are; `hash` follows the fingerprint. Pickling carries the bytes of the file.
    """

    __slots__ = ("__weakref__", "_file")
    _file: TokenizerFile | None

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        options: Mapping[str, Any] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        """Builds the encoder. Raises `UnsupportedVersion` where the vocabulary needs other Unicode tables."""
        pattern = compile_pattern(vocabulary.pattern)
        specials = [(token.id, (token.text or "").encode()) for token in vocabulary.specials.tokens]
        self._set(
            _vocabulary=vocabulary,
            _encoder=SCHEMES[vocabulary.scheme].build(vocabulary, pattern, specials),
            _options=dict(options or {}),
            _provenance={key: (provenance or {}).get(key) for key in PROVENANCE},
            _file=None,
        )

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Tokenizer is immutable; its methods return new ones")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Tokenizer is immutable; its methods return new ones")

    @classmethod
    def from_bytes(cls, data: bytes, *, source: str = "the data", verify: bool = True) -> Tokenizer:
        """A tokenizer from the bytes of its file; `source` names it in errors. See `slmtok.load`."""
        from slmtok.tokenizer_check import name_source, parse

        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise WrongType(f"a tokenizer file is bytes, not {type(data).__name__}", fix="slmtok.load(path)")
        data = bytes(data)
        content = parse(data, source)
        try:
            tokenizer = cls(content.vocabulary, options=content.options, provenance=content.provenance)
        except SlmtokError as error:
            name_source(error, source)
            raise
        tokenizer._set(_file=content)
        if verify:
            golden.check(tokenizer._encoder, content.golden, source)
        return tokenizer

    # --- identity and file --------------------------------------------------------------------------------------------

    @property
    def sha256(self) -> str:
        """The digest in the tokenizer file, over all of it."""
        return self._content().sha256

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self.fingerprint == other.fingerprint and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.to_bytes(),)

    def _content(self) -> TokenizerFile:
        content = self._file
        if content is None:
            vectors = golden.make(self._encoder)
            content = TokenizerFile(self._vocabulary, vectors, options=self._options, provenance=self._provenance)
            self._set(_file=content)
        return content

    def to_bytes(self) -> bytes:
        """The bytes of the tokenizer file."""
        return self._content().content

    def save(self, path: _Path, *, force: bool = False) -> None:
        """Writes the file whole or not at all. Raises `OutputExists` unless `force`, `DiskFull`, `Unreadable`."""
        from slmtok import atomic

        atomic.write(path, self.to_bytes(), force=force)

    def name(self, role: str, text: str) -> Tokenizer:
        """The same tokenizer with `role` spelled `text`; a new role takes the first reserved id. Equal fingerprint."""
        specials = self.specials.named(role, text)
        return Tokenizer(self._vocabulary.with_specials(specials), options=self._options, provenance=self._provenance)

    def slice(self, n_vocab: int) -> Tokenizer:
        """The tokenizer of the first `n_vocab` ids: what training to that size would have given."""
        provenance = {**self._provenance, "sliced_from": self.fingerprint}
        vocabulary = self._vocabulary.slice(n_vocab)
        options = {**self._options, "vocab": vocabulary.n_vocab} if "vocab" in self._options else self._options
        return Tokenizer(vocabulary, options=options, provenance=provenance)

    def extend(self, counts: PretokenCounts, vocab: int, **options: Any) -> Tokenizer:
        """The tokenizer with tokens behind its own, learned from counts; every id stays. Options as in `slmtok.train`.

        `slmtok.training.surgery.extend` says besides how much text is cut anew.
        """
        from slmtok.training.surgery import extend

        return extend(self, counts, vocab, **options).tokenizer

    def prune(
        self,
        *,
        ids: Iterable[int] | None = None,
        unused_on: Corpus | PretokenCounts | None = None,
        keep: int | None = None,
    ) -> Pruned:
        """(tokenizer, id_map, …) without `ids`, or without what text does not use: `slmtok.training.surgery.prune`."""
        from slmtok.training.surgery import prune

        return prune(self, ids=ids, unused_on=unused_on, keep=keep)

    def as_tiktoken(self, spell: Mapping[str, str] | None = None) -> Encoding:
        """A tiktoken-shaped `Encoding` of this tokenizer; `spell` (role to spelling) re-spells specials in it."""
        from slmtok.compat.tiktoken import from_tokenizer

        return from_tokenizer(self, spell=spell)

    def as_hf(
        self,
        *,
        add_eos: bool = False,
        pad: str = "pad",
        model_max_length: int | None = None,
        padding_side: str = "right",
        truncation_side: str = "right",
    ) -> HFTokenizer:
        """This tokenizer as Hugging Face scripts call one: `tok.as_hf()(texts, truncation=True, max_length=512)`.

        add_eos: end each text with `eos` unless a call says otherwise. pad: role or spelling of what fills rows.
        """
        from slmtok.compat.hf import from_tokenizer

        return from_tokenizer(
            self,
            add_eos=add_eos,
            pad=pad,
            model_max_length=model_max_length,
            padding_side=padding_side,
            truncation_side=truncation_side,
        )

    # --- encoding ---------------------------------------------------------------------------------------------------

    def encode(
        self, x: Text, *, bos: bool = False, eos: bool = False, allow_special: special_text.AllowSpecial = ()
    ) -> Ids:
        """The ids of one text, shape (n,), read-only.

        bos, eos: put that special in front, behind. allow_special: roles or spellings (or "all") that become control
        ids where the text spells them. Raises `InvalidText` (lone surrogate), `UnknownSpecial`, `WrongType`.
        """
        if not (bos or eos or allow_special):
            try:
                return self._encoder.encode(x)
            except TypeError:
                return self._encoder.encode(arguments.one_text(x))
        parts: list[Any] = [self._ids(self.specials["bos"])] if bos else []
        parts.extend(self._encode_parts(arguments.one_text(x), allow_special))
        if eos:
            parts.append(self._ids(self.specials["eos"]))
        return arguments.joined(parts, self.dtype)

    def encode_list(
        self, x: Text, *, bos: bool = False, eos: bool = False, allow_special: special_text.AllowSpecial = ()
    ) -> list[int]:
        """As `encode`, as a Python list of int."""
        if bos or eos or allow_special:
            ids: list[int] = self.encode(x, bos=bos, eos=eos, allow_special=allow_special).tolist()
            return ids
        try:
            return self._encoder.encode_list(x)
        except TypeError:
            return self._encoder.encode_list(arguments.one_text(x))

    def encode_batch(
        self,
        xs: Iterable[Text],
        *,
        threads: int = 0,
        bos: bool = False,
        eos: bool = False,
        progress: Progress | None = None,
    ) -> Ragged:
        """The ids of many texts, `bos` and `eos` as in `encode`. `threads=0` means all; ids do not depend on it."""
        frame = self._frame(bos=bos, eos=eos)
        ids, offsets = self._encoder.encode_batch(
            arguments.many_texts(xs, "encode_batch"), threads=arguments.threads(threads), **frame, progress=progress
        )
        return Ragged(ids, offsets)

    def encode_files(
        self,
        paths: _Path | Sequence[_Path],
        out: _Path,
        *,
        document: Literal["file", "line"] = "file",
        threads: int = 0,
        bos: bool = False,
        eos: bool = False,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Ragged:
        """Encodes text files into `out` (ids, raw, little-endian) and `out`.offsets.npy (int64, n + 1).

        Both appear whole or not at all. The result maps them into memory. Raises `MissingInput`, `OutputExists`,
        `DiskFull`, `Unreadable`.
        """
        return id_files.encode_files(
            self._encoder,
            paths,
            out,
            document=document,
            threads=arguments.threads(threads),
            frame=self._frame(bos=bos, eos=eos),
            force=force,
            progress=progress,
        )

    def encode_with_offsets(self, x: Text, unit: Literal["bytes", "chars"] = "bytes") -> tuple[Ids, NDArray[np.int64]]:
        """(ids, spans): `spans[i]` is (start, end) of id i in the text, shape (n, 2), int64; together they tile it.

        With unit "chars" a position inside a character counts as the character's start.
        """
        arguments.check_unit(unit)
        ids = self.encode(x)
        spans = byte_spans(ids, self.byte_lengths())
        if unit == "chars":
            spans = char_spans(spans, x.encode() if isinstance(x, str) else bytes(x))
        return ids, spans

    def encode_segments(self, parts: Iterable[Segment]) -> Segments:
        """Typed segments to ids: `Special` gives its id, `str` and `bytes` are text, `Trusted` may spell specials.

        Raises `UnknownSpecial` with the roles that exist, `WrongType`.
        """
        return segment_coding.encode_segments(self, parts)

    def count_tokens(self, xs: Iterable[Text], *, threads: int = 0) -> NDArray[np.int64]:
        """How many ids each text would take, shape (n,), int64, without making them."""
        return self._encoder.count_batch(arguments.many_texts(xs, "count_tokens"), threads=arguments.threads(threads))

    def pieces(self, x: Text) -> list[tuple[int, bytes]]:
        """(id, bytes) of each token of a text, for looking at."""
        return [(id, self._vocabulary.token_bytes(id)) for id in self.encode_list(x)]

    def _frame(self, *, bos: bool, eos: bool) -> dict[str, int | None]:
        return {"bos": self.specials["bos"] if bos else None, "eos": self.specials["eos"] if eos else None}

    def _ids(self, *ids: int) -> Ids:
        import numpy as np

        return np.array(ids, dtype=self.dtype)

    def _encode_parts(self, x: Text, allow: special_text.AllowSpecial) -> list[Ids]:
        """The ids of a text in stretches, allowed specials apart."""
        spellings = special_text.allowed(self.specials, allow)
        if not spellings:
            return [self._encoder.encode(x)]
        text = x if isinstance(x, str) else bytes(x)
        return [
            self._ids(part) if isinstance(part, int) else self._encoder.encode(part)
            for part in special_text.split(text, spellings)
        ]

    # --- decoding ---------------------------------------------------------------------------------------------------

    def decode(self, ids: Any, errors: str = "replace", *, skip_special: bool = False) -> str:
        """The text of ids (array or sequence of int). `errors` as in `bytes.decode`.

        Specials give their spelling unless `skip_special`. Raises `UnknownId` with the position.
        """
        arguments.check_errors(errors)
        return self.decode_bytes(ids, skip_special=skip_special).decode("utf-8", errors)

    def decode_bytes(self, ids: Any, *, skip_special: bool = False) -> bytes:
        """The bytes of ids. Raises `UnknownId` with the position."""
        return id_rows.decode(self._encoder, ids, self.specials if skip_special else None)

    def decode_batch(self, rows: Ragged | Iterable[Any], errors: str = "replace", *, threads: int = 0) -> list[str]:
        """The texts of many id sequences: a `Ragged`, or any iterable of arrays or lists.

        Raises `UnknownId` with position and document.
        """
        arguments.check_errors(errors)
        found = id_rows.decode_batch(self._encoder, rows, arguments.threads(threads))
        return [text.decode("utf-8", errors) for text in found]

    def decode_segments(self, ids: Any) -> list[Special | str | bytes]:
        """The typed list back: a `Special` for each control id, the text between as `str` where it is UTF-8."""
        return segment_coding.decode_segments(self, ids)

    def stream(self) -> StreamDecoder:
        """A decoder with `push(id) -> str` and `finish() -> str` that never splits a character."""
        return StreamDecoder(self._encoder)


def load(path: _Path, verify: bool = True) -> Tokenizer:
    """Reads a tokenizer file. `verify=False` skips only the golden vectors.

    Raises `MissingInput`, `Unreadable`, `CorruptFile`, `UnsupportedVersion`, `InvalidMerges`, `InvalidTokens`,
    `InvalidSpecials`, `GoldenMismatch`, each naming the file and the fault.
    """
    from slmtok.tokenizer_check import MAX_BYTES

    return Tokenizer.from_bytes(id_files.read_file(path, MAX_BYTES + 1), source=str(path), verify=verify)


def _unpickle(data: bytes) -> Tokenizer:
    return Tokenizer.from_bytes(data, source="the pickle", verify=False)
