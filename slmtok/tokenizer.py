"""`Tokenizer`: text to ids and back. Immutable; every result is a function of the bytes of its file.

It joins a `Vocabulary` to the compiled engine. Options are arguments of each call; there is no state. Ids are read-only
numpy arrays (uint16 where n_vocab <= 65536, else uint32), Python lists only on request. Text is `str` or bytes-like;
the spelling of a special token is ordinary text unless the call allows it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, NoReturn, final, overload

from slmtok import id_arrays, segments, specials
from slmtok.calls import (
    Expression,
    argument_text,
    call_text,
    explains_calls,
    ids_apart,
    warn_caller,
    warn_if_used_up,
    warn_of_file_names,
    wrong_call,
)
from slmtok.checks import (
    are_ids,
    are_texts,
    check_bool,
    check_choice,
    check_errors,
    check_int,
    check_text,
    check_texts,
    check_threads,
    check_type,
    not_one_text,
)
from slmtok.errors import OptionError, Setting, SlmtokError, WrongType
from slmtok.files import read_limited
from slmtok.foreign_attributes import NamesConstructors, explains_absent_names
from slmtok.foreign_options import hf_options
from slmtok.id_arrays import StreamDecoder, join_ids
from slmtok.path_arguments import with_names
from slmtok.patterns import compile_pattern
from slmtok.ragged import Ragged
from slmtok.schemes import SCHEMES
from slmtok.segments import Segment, Segments, Special
from slmtok.spans import byte_spans, char_spans
from slmtok.token_text import FOREIGN_SPACES, Words, escape_token, unescape_token
from slmtok.tokenizer_file import (
    PROVENANCE,
    TokenizerFile,
    check_golden,
    make_golden,
    name_source,
    parse_tokenizer_file,
)
from slmtok.vocab_json import vocab_metadata
from slmtok.vocabulary import PatternSpec, Vocabulary, not_indexed, not_searched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from slmtok._engine import Encoder
    from slmtok.aliases import Ids, Progress, Text
    from slmtok.specials import AllowSpecial, Specials

_Path = str | os.PathLike[str]


@final
@explains_absent_names
@explains_calls
class Tokenizer(metaclass=NamesConstructors):
    """A vocabulary that encodes. Made by `slmtok.train`, `slmtok.load` and `slmtok.from_tiktoken`.

    Two are equal when their files are; `hash` follows the fingerprint. Pickling carries the bytes of the file.
    """

    _encoder: Encoder
    _options: dict[str, Any]
    _provenance: dict[str, Any]
    _vocabulary: Vocabulary

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        options: Mapping[str, Any] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        """Builds the encoder. Raises `UnsupportedVersion` where the vocabulary needs other Unicode tables."""
        if not isinstance(vocabulary, Vocabulary):
            raise WrongType(
                f"a Tokenizer is made of a Vocabulary, not of {type(vocabulary).__name__}",
                fix=with_names("slmtok.load('{TOK}')"),
            )
        for name, each in (("options", options), ("provenance", provenance)):
            check_type(name, each, Mapping, f"{name}=tok.{name}")
        pattern = compile_pattern(vocabulary.pattern)
        specials = [(token.id, (token.text or "").encode()) for token in vocabulary.specials.tokens]
        self.__dict__.update(
            _vocabulary=vocabulary,
            _encoder=SCHEMES[vocabulary.scheme].build(vocabulary, pattern, specials),
            _options=dict(options or {}),
            _provenance={key: (provenance or {}).get(key) for key in PROVENANCE},
        )

    def __setattr__(self, name: str, value: object) -> None:
        role, _, rest = name.partition("_token")
        call = "its methods return new ones"
        if rest == "" and role != name and isinstance(value, str):
            call = specials.assignment_meant(self.specials, role, value)
        if name in ("n_vocab", "vocab_size") and isinstance(value, int):
            larger = f"slmtok.extend(tok, slmtok.count(corpus), vocab_size={value}).tokenizer"
            made = f"slmtok.slice(tok, {value})" if value <= self.n_vocab else larger
            call = f"tok = {made} makes another one"
        raise AttributeError(f"a Tokenizer is immutable; {call}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Tokenizer is immutable; its methods return new ones")

    def __call__(self, *args: object, **keywords: object) -> NoReturn:
        """Raises `WrongType`: a tokenizer of transformers is called, this one is not."""
        given = args or (keywords.pop("text", Expression("text")),)
        texts = [Expression(argument_text(each, "text")) for each in given]
        several = isinstance(given[0], (list, tuple))
        method = self.encode_batch if several else self.encode
        is_own = len(texts) == 1 and keywords.keys() <= signature(method).parameters.keys()
        own = f"{call_text(f'tok.{method.__name__}', texts, keywords)}, or " if is_own else ""
        options = hf_options(keywords, several=several)
        fix = f"{own}{call_text('slmtok.compat.as_hf(tok)', texts, options)}, as in transformers"
        raise WrongType("a Tokenizer is not called", fix=fix)

    @classmethod
    def from_bytes(cls, data: bytes, *, source: str = "the data", verify: bool = True) -> Tokenizer:
        """A tokenizer from the bytes of its file; `source` names it in errors. See `slmtok.load`."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise WrongType(f"a tokenizer file is bytes, not {type(data).__name__}", fix="slmtok.load(path)")
        data = bytes(data)
        content = parse_tokenizer_file(data, source)
        try:
            tokenizer = cls(content.vocabulary, options=content.options, provenance=content.provenance)
        except SlmtokError as error:
            name_source(error, source)
            raise
        tokenizer.__dict__["_file"] = content
        if verify:
            check_golden(tokenizer._encoder, content.golden, source)
        return tokenizer

    # --- what it is ---------------------------------------------------------------------------------------------------

    @property
    def vocabulary(self) -> Vocabulary:
        """Which id stands for which bytes."""
        return self._vocabulary

    @property
    def scheme(self) -> str:
        """`bpe`, `word`, `char` or `byte`."""
        return self._vocabulary.scheme

    @property
    def pattern(self) -> PatternSpec:
        """The split pattern: name, regex, Unicode version."""
        return self._vocabulary.pattern

    @property
    def n_vocab(self) -> int:
        """Largest id + 1."""
        return self._vocabulary.n_vocab

    @property
    def vocab_size(self) -> int:
        """`n_vocab`, as Hugging Face's tokenizers name it."""
        return self.n_vocab

    def __len__(self) -> int:
        """`n_vocab`."""
        return self.n_vocab

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: object) -> NoReturn:
        """Raises `WrongType` with the method that finds an id or a token. Python calls it to iterate, from 0 up."""
        raise not_indexed("a Tokenizer", key)

    def __contains__(self, key: object) -> NoReturn:
        """Raises `WrongType` with the test of a token or an id."""
        raise not_searched("a Tokenizer", key)

    @property
    def padded_vocab(self) -> int:
        """`n_vocab` rounded up to a multiple of 64."""
        return self._vocabulary.padded_vocab

    @property
    def specials(self) -> Specials:
        """Role to id: `tok.specials["eos"]`."""
        return self._vocabulary.specials

    @property
    def fingerprint(self) -> str:
        """sha256 (hex) of what decides the ids of text; naming a special leaves it as it is."""
        return self._vocabulary.fingerprint

    @property
    def options(self) -> dict[str, Any]:
        """The options of its training, after defaults (a copy)."""
        return dict(self._options)

    @property
    def provenance(self) -> dict[str, Any]:
        """Where it came from: package, digests and totals of the corpus (a copy)."""
        return dict(self._provenance)

    @property
    def dtype(self) -> np.dtype[Any]:
        """uint16 where n_vocab <= 65536, else uint32."""
        import numpy as np

        return np.dtype(np.uint32 if self._encoder.wide else np.uint16)

    def __repr__(self) -> str:
        pattern = self.pattern.name or repr(self.pattern.regex)
        return (
            f"Tokenizer({self.scheme}, pattern {pattern}, n_vocab={self.n_vocab}, fingerprint={self.fingerprint[:8]}…)"
        )

    def _repr_html_(self) -> str:
        from slmtok.notebook import html_table

        learned = range(self.n_vocab - 1, max(self.n_vocab - 9, len(self.specials.tokens) + 255), -1)
        rows = [
            ("scheme", self.scheme),
            ("pattern", self.pattern.name or self.pattern.regex),
            ("n_vocab", f"{self.n_vocab:,}"),
            ("specials", ", ".join(f"{id} {self.specials.text(role)} ({role})" for role, id in self.specials.items())),
            ("learned last", "  ".join(map(self.id_to_token, learned))),
            ("fingerprint", self.fingerprint),
        ]
        return html_table("Tokenizer", rows)

    def metadata(self) -> dict[str, object]:
        """The content of `vocab.json`: sizes, special ids by role, byte length of every id, fingerprint."""
        return vocab_metadata(self._vocabulary)

    def token_bytes(self, id: int) -> bytes:
        """The bytes of an id; a special gives its spelling. Raises `UnknownId`."""
        return self._vocabulary.token_bytes(id)

    def token_id(self, token: bytes) -> int | None:
        """The id of exactly these bytes among ordinary tokens, or None. Raises `WrongType`."""
        given: object = token
        try:
            return self._vocabulary.token_id(token)
        except WrongType as error:
            if isinstance(given, int):
                error.fix = f"tok.token_bytes({given}) gives the bytes of an id"
            raise

    def id_to_token(self, id: int) -> str:
        """An id as a printable word, `␣the` (see `slmtok.token_text`); a special as spelled. Raises `UnknownId`."""
        try:
            data = self.token_bytes(id)
        except WrongType as error:
            error.fix = (error.fix or "").replace("tok.token_bytes(", "tok.id_to_token(")
            raise
        return data.decode() if id in self._special_ids else escape_token(data)

    def token_to_id(self, token: str) -> int | None:
        """The id of a word as `id_to_token` gives it, or None; a plain space is a space as well."""
        if not isinstance(token, str):
            raise WrongType(f"a word is a str, not {type(token).__name__}", fix=_call_of_word(token))
        special = self.specials.spellings.get(token)
        found = self.token_id(unescape_token(token)) if special is None else special
        if found is None and (meant := token.translate(FOREIGN_SPACES)) != token:
            data = unescape_token(meant)
            meant_id = self.token_id(data)
            if meant_id is not None:
                call = f"tok.token_to_id({escape_token(data)!r})"
                writer = "SentencePiece's" if "▁" in token else "GPT-2's"
                warn_caller(
                    f"{token!r} is no token; its white space is written as in {writer} files: {call} is {meant_id}"
                )
        return found

    def get_vocab(self) -> dict[str, int]:
        """The word of each id, as `id_to_token` gives it, and the id; without holes and reserved specials."""
        words = {escape_token(data): id for id, data in self._vocabulary.items()}
        return Words(words | self.specials.spellings)

    @cached_property
    def _special_ids(self) -> frozenset[int]:
        return frozenset(token.id for token in self.specials.tokens)

    def byte_lengths(self) -> NDArray[np.uint32]:
        """Bytes of text that each id stands for, shape (n_vocab,), uint32, read-only; 0 for specials and holes."""
        return self._vocabulary.byte_lengths

    # --- identity and file --------------------------------------------------------------------------------------------

    @property
    def sha256(self) -> str:
        """The digest in the tokenizer file, over all of it."""
        return self._file.sha256

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self.fingerprint == other.fingerprint and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.to_bytes(),)

    @cached_property
    def _file(self) -> TokenizerFile:
        vectors = make_golden(self._encoder)
        return TokenizerFile(self._vocabulary, vectors, options=self._options, provenance=self._provenance)

    def to_bytes(self) -> bytes:
        """The bytes of the tokenizer file."""
        return self._file.content

    def save(self, path: _Path, *, force: bool = False) -> None:
        """Writes the file whole or not at all. Raises `OutputExists` unless `force`, `DiskFull`, `Unreadable`."""
        from slmtok import atomic

        atomic.write(path, self.to_bytes(), force=force)

    def with_special(self, role: str, text: str) -> Tokenizer:
        """The same tokenizer with `role` spelled `text`; a new role takes the first reserved id. Equal fingerprint."""
        named = self.specials.named(role, text)
        return Tokenizer(self._vocabulary.with_specials(named), options=self._options, provenance=self._provenance)

    # --- encoding -----------------------------------------------------------------------------------------------------

    @overload
    def encode(self, x: Text, *, bos: bool = False, eos: bool = False, allow_special: AllowSpecial = ()) -> Ids: ...
    @overload
    def encode(
        self,
        x: Text,
        *,
        bos: bool = False,
        eos: bool = False,
        allow_special: AllowSpecial = (),
        dtype: Any = None,
        return_tensors: Literal["np", "pt"] | None = None,
    ) -> Any: ...
    def encode(
        self,
        x: Text,
        *more: NoReturn,
        bos: bool = False,
        eos: bool = False,
        allow_special: AllowSpecial = (),
        dtype: Any = None,
        return_tensors: Literal["np", "pt"] | None = None,
        **unknown: NoReturn,
    ) -> Any:
        """The ids of one text, shape (n,), read-only.

        bos, eos: add that special before, after. allow_special: roles or spellings (or "all") that become control
        ids where the text spells them. dtype: a numpy or torch integer type for a writable copy. return_tensors: a
        batch of one, shape (1, n), int64 unless `dtype` says otherwise, as a numpy array ("np") or a torch tensor
        ("pt"), as in transformers.

        Raises `InvalidText` (lone surrogate), `UnknownSpecial`, `WrongType`, `OptionError` for a dtype that cannot
        hold every id of the vocabulary, `UnknownOption`, `MissingExtra` if torch is not installed.
        """
        if more or unknown:
            named = {"bos": bos, "eos": eos, "allow_special": allow_special, "dtype": dtype}
            raise _wrong_call(self, "encode", (x, *more), {**named, "return_tensors": return_tensors}, unknown)
        if dtype is not None or return_tensors is not None:
            ids = self.encode(x, bos=bos, eos=eos, allow_special=allow_special)
            from slmtok.tensors import convert

            return convert(ids, dtype, return_tensors, self.n_vocab)
        if bos is False and eos is False and not allow_special:
            try:
                return self._encoder.encode(x)
            except TypeError:
                pass  # not within it, where an error would be shown below this one
            return self._encoder.encode(check_text(x))
        check_bool("bos", bos)
        check_bool("eos", eos)
        parts: list[Any] = [self._ids(self.specials["bos"])] if bos else []
        parts.extend(self._encode_parts(check_text(x), allow_special))
        if eos:
            parts.append(self._ids(self.specials["eos"]))
        return join_ids(parts, self.dtype)

    def encode_list(
        self,
        x: Text,
        *more: NoReturn,
        bos: bool = False,
        eos: bool = False,
        allow_special: AllowSpecial = (),
        **unknown: NoReturn,
    ) -> list[int]:
        """As `encode`, as a Python list of int."""
        if more or unknown:
            named = {"bos": bos, "eos": eos, "allow_special": allow_special}
            raise _wrong_call(self, "encode_list", (x, *more), named, unknown)
        if bos is not False or eos is not False or allow_special:
            ids: list[int] = self.encode(x, bos=bos, eos=eos, allow_special=allow_special).tolist()
            return ids
        try:
            return self._encoder.encode_list(x)
        except TypeError:
            pass
        return self._encoder.encode_list(check_text(x))

    def encode_batch(
        self,
        xs: Iterable[Text],
        *,
        threads: int = 0,
        bos: bool = False,
        eos: bool = False,
        dropout: float | None = None,
        seed: int = 0,
        epoch: int = 0,
        progress: Progress | None = None,
    ) -> Ragged:
        """The ids of many texts, `bos` and `eos` as in `encode`. `threads=0` means all; ids do not depend on it.

        dropout: BPE-dropout (Provilkov, Emelianenko and Voita 2020): the probability with which a merge is skipped, so
        that a model sees several encodings of a text. The ids of a text depend on it, `seed`, `epoch` and this text
        alone. Raises `OptionError` for a tokenizer without merges, and for a seed or an epoch without `dropout`.
        """
        texts = check_texts(xs, "encode_batch")
        warn_if_used_up(xs, len(texts))
        warn_of_file_names(texts)
        _refuse_one_each(bos=bos, eos=eos)
        options: Any = {"threads": check_threads(threads), "progress": progress, **self._delimiters(bos=bos, eos=eos)}
        if dropout:
            own: Any = {"has_merges": self.scheme == "bpe", "seed": seed, "epoch": epoch}
            return Ragged(*id_arrays.encode_with_dropout(self._encoder, texts, dropout, **own, **options))
        if dropout is None and (seed or epoch):
            raise _no_dropout({"seed": seed, "epoch": epoch})
        return Ragged(*self._encoder.encode_batch(texts, **options))

    def encode_files(
        self,
        paths: _Path | Sequence[_Path],
        out: _Path,
        *,
        document: Literal["file", "line"] = "file",
        threads: int = 0,
        bos: bool = False,
        eos: bool = False,
        max_doc_bytes: int = 1 << 30,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Ragged:
        """Encodes text files into `out` (ids, raw, little-endian) and `out`.offsets.npy (int64, n + 1).

        Both appear whole or not at all. The result maps them into memory. max_doc_bytes: most text of a document that
        is held at once; larger documents are cut where no piece crosses, in bounded memory, unless they have no such
        place. Raises `MissingInput`, `OutputExists`, `DiskFull`, `Unreadable`, `DocumentTooLarge`, `OptionError` (a
        file that is not text, an `out` that is named as another kind of file, such as .npy).
        """
        return id_arrays.encode_files(
            self._encoder,
            id_arrays.text_sources(paths, out, force=force),
            id_arrays.raw_output(out),
            document=document,
            threads=check_threads(threads),
            delimiters=self._delimiters(bos=bos, eos=eos),
            max_doc_bytes=check_int("max_doc_bytes", max_doc_bytes, 1),
            force=force,
            progress=progress,
        )

    def encode_with_offsets(self, x: Text, unit: Literal["bytes", "chars"] = "bytes") -> tuple[Ids, NDArray[np.int64]]:
        """(ids, spans): `spans[i]` is (start, end) of id i in the text, shape (n, 2), int64; together they tile it.

        With unit "chars" a position inside a character counts as the character's start.
        """
        check_choice("unit", unit, ("bytes", "chars"))
        if are_texts(x):
            option = "" if unit == "bytes" else f", unit={unit!r}"
            raise not_one_text(x, f"[tok.encode_with_offsets(text{option}) for text in texts]")
        ids = self.encode(x)
        spans = byte_spans(ids, self.byte_lengths())
        if unit == "chars":
            spans = char_spans(spans, x.encode() if isinstance(x, str) else bytes(x))
        return ids, spans

    def encode_segments(self, parts: Iterable[Segment]) -> Segments:
        """Typed segments to ids: `Special` gives its id, `str` and `bytes` are text, `Trusted` may spell specials.

        Raises `UnknownSpecial` with the roles that exist, `WrongType`.
        """
        return segments.encode_segments(self, parts)

    def count_tokens(self, xs: Iterable[Text], *, threads: int = 0) -> NDArray[np.int64]:
        """How many ids each text would take, shape (n,), int64, without building them."""
        texts = check_texts(xs, "count_tokens")
        warn_if_used_up(xs, len(texts))
        warn_of_file_names(texts)
        return self._encoder.count_batch(texts, threads=check_threads(threads))

    def pieces(self, x: Text) -> list[tuple[int, bytes]]:
        """(id, bytes) of each token of a text, for inspection."""
        if are_texts(x):
            raise not_one_text(x, "[tok.pieces(text) for text in texts]")
        if are_ids(x):
            raise not_one_text(x, f"tok.pieces(tok.decode({argument_text(x, 'ids')}))")
        return [(id, self._vocabulary.token_bytes(id)) for id in self.encode_list(x)]

    def _delimiters(self, *, bos: bool, eos: bool) -> dict[str, int | None]:
        check_bool("bos", bos)
        check_bool("eos", eos)
        return {"bos": self.specials["bos"] if bos else None, "eos": self.specials["eos"] if eos else None}

    def _ids(self, *ids: int) -> Ids:
        import numpy as np

        return np.array(ids, dtype=self.dtype)

    def _encode_parts(self, x: Text, allow: AllowSpecial) -> list[Ids]:
        """The ids of each part of a text, split at allowed specials."""
        spellings = specials.allowed_spellings(self.specials, allow)
        text = x if isinstance(x, str) else bytes(x)
        if other := specials.foreign_spelling(text, self.specials, allow):
            spelling, role = other
            fix = f"; tok = tok.with_special({role!r}, {spelling!r}) makes one that has it" if role else ""
            warn_caller(f"{spelling!r} of the text is no special token of this tokenizer and stays text{fix}")
        if not spellings:
            return [self._encoder.encode(x)]
        return [
            self._ids(part) if isinstance(part, int) else self._encoder.encode(part)
            for part in specials.split_at_specials(text, spellings)
        ]

    # --- decoding -----------------------------------------------------------------------------------------------------

    def decode(
        self, ids: Any, errors: str = "replace", *more: NoReturn, skip_special: bool = False, **unknown: NoReturn
    ) -> str:
        """The text of ids (array or sequence of int). `errors` as in `bytes.decode`.

        Specials give their spelling unless `skip_special`. Raises `UnknownId` with the position, `UnknownOption`.
        """
        if more:
            raise _wrong_call(self, "decode", (ids, errors, *more), {"skip_special": skip_special}, unknown)
        if unknown:
            raise _wrong_call(self, "decode", (ids,), {"errors": errors, "skip_special": skip_special}, unknown)
        if type(errors) is not str or errors != "replace":
            _check_handler(errors, ids, "tok.decode({}, skip_special={})", skip_special=skip_special)
        specials = self.specials if skip_special else None
        return id_arrays.text_of(id_arrays.decode_ids(self._encoder, ids, specials), errors)

    def decode_bytes(self, ids: Any, *, skip_special: bool = False) -> bytes:
        """The bytes of ids. Raises `UnknownId` with the position."""
        return id_arrays.decode_ids(self._encoder, ids, self.specials if skip_special else None, "tok.decode_bytes({})")

    def decode_batch(self, rows: Ragged | Iterable[Any], errors: str = "replace", *, threads: int = 0) -> list[str]:
        """The texts of many id sequences: a `Ragged`, or any iterable of arrays or lists.

        Raises `UnknownId` with position and document.
        """
        _check_handler(errors, rows, "[tok.decode(row, skip_special={1}) for row in {0}]", threads=threads)
        found = id_arrays.decode_batch(self._encoder, rows, check_threads(threads))
        return [text.decode("utf-8", errors) for text in found]

    def decode_segments(self, ids: Any) -> list[Special | str | bytes]:
        """The typed list back: a `Special` for each control id, the text between as `str` where it is UTF-8."""
        return segments.decode_segments(self, ids)

    def stream(self) -> StreamDecoder:
        """A decoder with `push(id) -> str` and `finish() -> str` that never splits a character."""
        return StreamDecoder(self._encoder)


def _wrong_call(
    tok: Tokenizer, name: str, args: Sequence[Any], named: Mapping[str, Any], unknown: Mapping[str, Any]
) -> SlmtokError:
    """As `wrong_call`, of a method with `**unknown`; its fix keeps the options of `named` that are not the defaults."""
    method = getattr(tok, name)
    parameters = signature(method).parameters
    given = {name: value for name, value in named.items() if value is not parameters[name].default}
    error = wrong_call(method, args, {**given, **unknown})
    if [*unknown] == ["allowed_special"] and len(args) == 1 and isinstance(args[0], (str, bytes)):
        allow = unknown["allowed_special"]
        spelling, role = specials.foreign_spelling(args[0], tok.specials) or ("", None)
        if role and isinstance(allow, (str, set, frozenset, list, tuple)) and (allow == "all" or spelling in allow):
            # The option alone would leave the spelling of a special token that this tokenizer lacks text.
            function = f"tok.with_special({role!r}, {spelling!r}).{name}"
            text = Expression(argument_text(args[0], "text"))
            error.fix = call_text(function, [text], {**given, "allow_special": allow})
    return error


def _check_handler(errors: str | bool, ids: object, call: str, **options: object) -> None:
    """As `check_errors`; a bool is the `skip_special_tokens` of transformers, which has this place, and so has `call`.

    Raises `OptionError`, and `WrongType` for further ids in that place.
    """
    if isinstance(errors, bool):
        raise OptionError(
            f"errors={errors} is no error handler",
            limit="as in bytes.decode: 'replace', for instance; True or False is skip_special",
            fix=call.format(argument_text(ids, "rows" if "for row" in call else "ids"), errors),
            option="errors",
        )
    name = "decode_batch" if "for row" in call else "decode"
    if not isinstance(errors, str) and (apart := ids_apart(name, (ids, errors), options)):
        raise apart
    check_errors(errors)


def _refuse_one_each(**delimiters: object) -> None:
    """Raises `WrongType` for `bos` or `eos` as a list, a value for each text: a batch has one for all texts."""
    lists = {name: argument_text(value, name) for name, value in delimiters.items() if isinstance(value, (list, tuple))}
    if not lists:
        return
    same = [f"{name}=True" for name, value in delimiters.items() if value is True]
    options = ", ".join([*(f"{name}={name}" for name in lists), *same])
    each = f"for text, {', '.join(lists)} in zip(texts, {', '.join(lists.values())})"
    fix = f"[tok.encode(text, {options}) {each}]"
    raise WrongType(f"{' and '.join(lists)} of a batch is one value for all texts, not a list", fix=fix)


def _call_of_word(token: object) -> str:
    """The call for words, an id or bytes in the place of a word."""
    if isinstance(token, (bytes, bytearray)):
        return f"tok.token_id({argument_text(bytes(token), 'token')})"
    if type(token) is int:
        return f"tok.id_to_token({argument_text(token, 'token')}) gives the word of an id"
    if isinstance(token, Iterable):
        words = argument_text(token, "words") if isinstance(token, (list, tuple)) else "words"
        return f"[tok.token_to_id(word) for word in {words}]"
    return "the word as a str, as tok.id_to_token(id) gives it"


def read_tokenizer(path: _Path, *, verify: bool = True) -> Tokenizer:
    """The tokenizer in a file of slmtok; errors as of `slmtok.load`, which takes more."""
    return Tokenizer.from_bytes(read_limited(path, "tokenizer file"), source=str(path), verify=verify)


def check_tokenizer(tokenizer: object) -> Tokenizer:
    """`tokenizer`, if it is one. Raises `WrongType`."""
    if not isinstance(tokenizer, Tokenizer):
        file = getattr(tokenizer, "tokenizer", tokenizer)  # packed data name theirs
        names_one = isinstance(file, (str, os.PathLike))
        fix = call_text("slmtok.load", [file if names_one else "tok.json"], {})
        if isinstance(file, Tokenizer):
            # That of a run, whose file may have gone.
            fix = "run.tokenizer, of the run that you gave"
        if isinstance(tokenizer, Vocabulary):
            fix = "slmtok.Tokenizer(vocabulary), of the Vocabulary that you gave"
        raise WrongType(f"tokenizer is {type(tokenizer).__name__}, not a Tokenizer", fix=fix)
    return tokenizer


def names_file(tokenizer: object) -> bool:
    """Whether an argument is the path of a file that may hold a tokenizer, and not a `Tokenizer`."""
    return isinstance(tokenizer, (str, os.PathLike)) and os.fspath(tokenizer).endswith(".json")


def refuse_swapped(tokenizer: object, other: object, limit: str, fix: str) -> None:
    """Raises `WrongType` for a tokenizer in the place of another argument; `limit` is the signature."""
    if isinstance(other, Tokenizer) and not isinstance(tokenizer, Tokenizer):
        fact = f"tokenizer is {type(tokenizer).__name__}, and the Tokenizer has another place"
        raise WrongType(fact, limit=limit, fix=fix)


def _unpickle(data: bytes) -> Tokenizer:
    return Tokenizer.from_bytes(data, source="the pickle", verify=False)


def _no_dropout(given: Mapping[str, object]) -> OptionError:
    """The error for options that draw merges, without a rate at which merges are left out."""
    names = [name for name, value in given.items() if value]
    have = "has" if len(names) == 1 else "have"
    fact = f"{' and '.join(names)} {have} no effect without dropout"
    fix = (f"leave {' and '.join(names)} out, or give ", Setting("dropout", 0.1))
    return OptionError(fact, fix=fix, option=names[0])
