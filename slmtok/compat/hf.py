"""Hugging Face's calling convention: the class behind `as_hf(tok)`, for training and evaluation scripts.

HFTokenizer, defaults and results are those of `transformers`' `PreTrainedTokenizerFast` over the `tokenizer.json` that
`slmtok export --output-format hf` writes; a test compares both. Neither library is imported. Intended differences: no
call changes the object (padding, truncation and the like are arguments); text that spells a special token is text, with
a warning for the spelling of `eos`; unknown ids are an error; no rows decode to no texts; errors are classes of
`slmtok.errors`. docs/guide/hugging-face.md lists what is not offered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, final, overload

from slmtok.calls import explains_calls, help_call, warn_caller
from slmtok.checks import check_index, check_int, integer_id, refuse_bool, utf8_of
from slmtok.compat._hf_rows import (
    UNLIMITED,
    Alignment,
    Frame,
    Plan,
    Settings,
    as_texts,
    check_tensor_type,
    chunk_rows,
    make_plan,
    make_rows,
    pad_columns,
    parse_inputs,
    tensor_type_of,
    to_array,
    to_plain,
)
from slmtok.compat._shared import check_iterable, check_str, spelling_of
from slmtok.errors import OptionError, Setting, UnknownId, UnknownOption, WrongType, suggestion, value_text
from slmtok.formats.hf import bytes_of, exported_specials, names_by_id
from slmtok.id_arrays import check_ids, check_row, in_document
from slmtok.notebook import html_tokens

if TYPE_CHECKING:
    from slmtok.specials import Specials, SpecialToken
    from slmtok.tokenizer import Tokenizer

__all__ = ["HFTokenizer"]


SHOWN_ROWS = 8
"""In a notebook."""


class Encoded(dict[str, Any]):
    """Column name -> lists, numpy arrays or torch tensors. Columns are attributes, too.

    `dropped` is the number of ids that `chunk` left out; other calls leave none out. The methods align ids with texts
    for the result of a call with texts; a pickle carries the columns only.
    """

    dropped: int = 0
    _alignment: tuple[Alignment, HFTokenizer] | None = None

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no column {name!r}; there are {', '.join(self) or 'none'}") from None

    def __getstate__(self) -> dict[str, Any]:
        return {"dropped": self.dropped}

    def _repr_html_(self) -> str:
        columns = ", ".join(self)
        if self._alignment is None:
            return html_tokens(f"Encoded: {columns}", ())
        alignment, tokenizer = self._alignment
        rows = [alignment.ids(row, tokenizer.pad_token_id) for row in range(min(len(alignment), SHOWN_ROWS))]
        more = f"; the first {SHOWN_ROWS} rows" if len(alignment) > SHOWN_ROWS else ""
        return html_tokens(f"Encoded: {columns}{more}", [(tokenizer.convert_ids_to_tokens(ids), ids) for ids in rows])

    def to(self, device: Any) -> Encoded:
        """A copy with every torch tensor on `device`; other columns are unchanged."""
        moved = Encoded((name, value.to(device) if hasattr(value, "to") else value) for name, value in self.items())
        moved.__dict__.update(self.__dict__)
        return moved

    def tokens(self, batch_index: int = 0) -> list[str]:
        """The names of the ids of a row."""
        alignment, tokenizer, row = self._aligned(batch_index, "tokens({})")
        return tokenizer.convert_ids_to_tokens(alignment.ids(row, tokenizer.pad_token_id))

    def word_ids(self, batch_index: int = 0) -> list[int | None]:
        """The word of each id in its text, None for special tokens: pieces of the split pattern, or the given words."""
        alignment, _, row = self._aligned(batch_index, "word_ids({})")
        return alignment.words(row)

    def sequence_ids(self, batch_index: int = 0) -> list[int | None]:
        """0 for ids of the first text, 1 for those of the second, None for special tokens."""
        alignment, _, row = self._aligned(batch_index, "sequence_ids({})")
        return alignment.sequences(row)

    def char_to_token(
        self, batch_or_char_index: int, char_index: int | None = None, sequence_index: int = 0
    ) -> int | None:
        """The position of the first id with bytes of a character; None for a character that has none.

        With one index it is that of a character in the first row; with two the first is that of the row.
        """
        row, char = (0, batch_or_char_index) if char_index is None else (batch_or_char_index, char_index)
        char = check_int("char_index", char, 0)
        alignment, _, row = self._aligned(row, f"char_to_token({{}}, {char})")
        return alignment.token_at(row, char, sequence_index)

    def _aligned(self, row: object, method: str) -> tuple[Alignment, HFTokenizer, int]:
        """Alignment, tokenizer and the row of a call of `method`. Raises `IndexError`, `OptionError`, `WrongType`."""
        if self._alignment is None:
            raise OptionError(
                "these ids cannot be aligned with texts: they come from chunk, pad or a pickle",
                fix="call the tokenizer with the texts",
                option="batch_index",
            )
        n = len(self._alignment[0])
        index = check_index(row, f"encoded.{method}", n)
        if not -n <= index < n:
            raise IndexError(f"row {value_text(index)} of {n}")
        return *self._alignment, index


_NO_PLAN = (None, None, None, None, 0)
_ROLES = ("bos", "eos", "unk", "sep", "mask")
_STATE = "mutable state; padding=, truncation=, max_length= are arguments of the call"
_ADDED = (
    "a change of the object; as_hf(tok.with_special('pad', '[PAD]')) gives the pad_token that spelling; "
    "as_hf(tok.with_special('user', '<|user|>')) names a reserved id"
)
_CALL = "one of the names that transformers 5 removed; hf(text, ...) and hf(texts, ...) take the same options"
_REFUSED = {
    "enable_padding": _STATE,
    "enable_truncation": _STATE,
    "no_padding": _STATE,
    "no_truncation": _STATE,
    "add_tokens": _ADDED,
    "add_special_tokens": _ADDED,
    "apply_chat_template": "a template language; {} builds a chat from parts",
    "encode_plus": _CALL,
    "batch_encode_plus": _CALL,
    "from_pretrained": "a constructor; as_hf(slmtok.load('TOK')) opens a tokenizer",
    "push_to_hub": "a client of a network; save_pretrained('folder') writes what the tools of Hugging Face upload",
    "train_new_from_iterator": "training; as_hf(slmtok.train(slmtok.Texts(TEXTS), vocab_size=N)) trains one",
}
_NO_EFFECT_IN_DECODE = ("clean_up_tokenization_spaces", "use_source_tokenizer", "spaces_between_special_tokens")
"""Options of transformers that change nothing where decoding is exact."""
_UNSET_IN_SAVE = ("legacy_format", "filename_prefix", "push_to_hub")
"""Options of `save_pretrained` in transformers that programs pass without a value."""


def _not_offered(name: str, tok: Tokenizer | None = None) -> AttributeError:
    """The error for a name of the other library; `tok` is the tokenizer of the object."""
    role, named = "user", ""
    if tok is not None and role not in tok.specials:
        call = tok.specials.call_with({role: "<|user|>"})
        named = f"tok = {call}; " if call else ""
        role = role if call else next(iter(tok.specials), role)
    instead = _REFUSED[name].replace("{}", f"{named}tok.encode_segments([slmtok.Special({role!r}), text])")
    # Without an object Python suggests no other name.
    return AttributeError(f"{name} is not offered: it is {instead}", name=name, obj=None)


class _NamesRefused(type):
    """Says what stands for a class method of the other library."""

    def __getattr__(cls, name: str) -> NoReturn:
        if name in _REFUSED:
            raise _not_offered(name)
        raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)


@final
@explains_calls
class HFTokenizer(metaclass=_NamesRefused):
    """A tokenizer under Hugging Face's names. Immutable and hashable.

    It depends only on the tokenizer file and the settings of `as_hf`: its pickle carries these bytes and settings, so
    `datasets.map` finds its cache again. `add_special_tokens` puts the special token `bos`, if there is one, before
    each text; `add_eos` puts `eos` after it.
    """

    def __init__(self, tokenizer: Tokenizer, settings: Settings) -> None:
        self.__dict__["_tok"] = tokenizer
        self.__dict__["_settings"] = settings.validated()
        if settings.pad != "pad":
            self._find(settings.pad)
        if settings.add_eos:
            tokenizer.specials.find("eos")
        self.__dict__["_unwarned_eos"] = tokenizer.specials.text("eos") if "eos" in tokenizer.specials else None

    _tok: Tokenizer
    _settings: Settings
    _unwarned_eos: str | None
    model_input_names = ("input_ids", "attention_mask")
    is_fast = True

    def __setattr__(self, name: str, value: object) -> None:
        role = name.removesuffix("_token")
        is_new = isinstance(value, str) and value not in {text for _, text in self._special_tokens.values()}
        if role != name and role in ("bos", "eos", "unk", "sep", "mask", "pad") and is_new:
            call = self._tok.specials.call_with({role: str(value)})
            raise AttributeError(
                f"{name} cannot be set; "
                + (f"as_hf({call}) gives another" if call else f"the tokenizer has {self._tok.specials.none_reserved}")
            )
        given = ", ".join(f"{option}={value!r}" for option, value in self._settings_with(name, value).items())
        raise AttributeError(
            f"{name} cannot be set; as_hf(tok, {given}) gives another"
            if given
            else f"{name} cannot be set: as_hf(tok, pad=…, padding_side=…, model_max_length=…) gives another"
        )

    def _settings_with(self, name: str, value: object) -> dict[str, object]:
        """The options of `as_hf` for these settings with one changed; none for another attribute."""
        default = Settings()
        given: dict[str, object] = {
            each.name: getattr(self._settings, each.name)
            for each in fields(default)
            if getattr(self._settings, each.name) != getattr(default, each.name)
        }
        if name == "pad_token" and isinstance(value, str):
            roles = {text: role for role, (_, text) in self._special_tokens.items()}
            return {**given, "pad": roles.get(value, value)}
        return {**given, name: value} if hasattr(default, name) else {}

    def __getattr__(self, name: str) -> Any:
        if name in _REFUSED:
            raise _not_offered(name, self.__dict__.get("_tok"))
        meant = None if name.startswith("_") else suggestion(name, dir(type(self)))
        hint = f"; did you mean {meant!r}?" if meant else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._tok!r}, {self._settings})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HFTokenizer):
            return NotImplemented
        return self._settings == other._settings and self._tok == other._tok

    def __hash__(self) -> int:
        return hash((self._tok, self._settings))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._tok, self._settings)

    # --- calls ---

    def __call__(
        self,
        text: str | Sequence[Any],
        text_pair: str | Sequence[Any] | None = None,
        *,
        add_special_tokens: bool = True,
        add_eos: bool | None = None,
        padding: bool | str = False,
        truncation: bool | str | None = None,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: str | None = None,
        return_token_type_ids: bool = False,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        threads: int = 0,
    ) -> Encoded:
        """Encodes a text, several texts, or pairs (`text_pair`, or a batch of tuples); returns columns.

        padding: False, True ("longest") or "max_length". truncation: False, True ("longest_first"), "only_first" or
        "only_second"; None truncates if only `max_length` is given. stride: ids that consecutive rows of a text share.
        is_split_into_words: a text is a list of words, which are encoded separately, without spaces between them.
        return_overflowing_tokens: truncated ids become further rows, and `overflow_to_sample_mapping` has the text of
        each row. return_tensors: "np" or "pt", int64. return_offsets_mapping: (start, end) in characters. A text alone
        gives flat columns, unless it overflows or as tensors. Raises `OptionError`, `WrongType`, `InvalidText`.
        """
        is_plain = padding is False and (truncation, max_length, pad_to_multiple_of, padding_side, stride) == _NO_PLAN
        plan = self._default_plan if is_plain else make_plan(
            self._settings, padding, truncation, max_length,
            stride=stride, pad_to_multiple_of=pad_to_multiple_of, padding_side=padding_side,
        )  # fmt: skip
        check_tensor_type(return_tensors)
        inputs = parse_inputs(text, text_pair, split=is_split_into_words)
        self._warn_of_eos(inputs.first)
        frame = self._frame(add_special_tokens, add_eos)
        rows = make_rows(self._tok, inputs, plan, frame, overflow=return_overflowing_tokens, threads=threads)
        columns: dict[str, Any] = {"input_ids": rows.ids()}
        if return_token_type_ids:
            columns["token_type_ids"] = rows.type_ids()
        if return_attention_mask or return_attention_mask is None:
            columns["attention_mask"] = [[1] * len(row) for row in columns["input_ids"]]
        if return_special_tokens_mask:
            columns["special_tokens_mask"] = rows.special_tokens_mask()
        if return_offsets_mapping:
            columns["offset_mapping"] = rows.offsets()
        columns = pad_columns(columns, plan, self.pad_token_id)
        if return_length:
            columns["length"] = [len(row) for row in columns["input_ids"]]
        if return_overflowing_tokens:
            columns["overflow_to_sample_mapping"] = rows.samples()
        flat = not inputs.many and return_tensors is None and not return_overflowing_tokens
        encoded = _finish(columns, return_tensors, flat=flat)
        encoded._alignment = Alignment(rows, columns["input_ids"], plan.padding_side), self
        return encoded

    def encode(
        self,
        text: str | Sequence[str],
        text_pair: str | Sequence[str] | None = None,
        add_special_tokens: bool = True,
        padding: bool | str = False,
        truncation: bool | str | None = None,
        max_length: int | None = None,
        stride: int = 0,
        padding_side: str | None = None,
        return_tensors: str | None = None,
        **options: Any,
    ) -> Any:
        """The ids of a text or pair: the column `input_ids` of a call with these options. Raises as a call."""
        return self(
            text, text_pair, add_special_tokens=add_special_tokens, padding=padding, truncation=truncation,
            max_length=max_length, stride=stride, padding_side=padding_side, return_tensors=return_tensors, **options,
        )["input_ids"]  # fmt: skip

    def tokenize(self, text: str, pair: str | None = None, add_special_tokens: bool = False) -> list[str]:
        """The names of the tokens of a text, or of a pair."""
        ids: list[int] = self.encode(text, pair, add_special_tokens)
        return self.convert_ids_to_tokens(ids)

    def chunk(
        self,
        texts: str | Sequence[str],
        length: int,
        *,
        min_fill: float = 0.5,
        concatenate: bool = True,
        stride: int = 0,
        add_special_tokens: bool = True,
        add_eos: bool | None = True,
        return_tensors: str | None = None,
        return_attention_mask: bool = True,
        return_labels: bool = False,
        threads: int = 0,
    ) -> Encoded:
        """Rows of exactly `length` ids for training: the concatenated texts, split into equal parts.

        The remainder is padded if it fills at least `min_fill` of a row (0 keeps any, 1 only full rows); otherwise it
        is dropped, and `dropped` of the result has the number of its ids. concatenate=False splits each text
        separately. stride: ids that consecutive rows share. add_special_tokens, add_eos: special tokens around each
        text. return_labels: `labels`, the ids with -100 at padding. Raises `OptionError`, `WrongType`.
        """
        check_tensor_type(return_tensors)
        many = as_texts(texts)
        self._warn_of_eos(many)
        frame = self._frame(add_special_tokens, add_eos)
        ragged = self._tok.encode_batch(many, threads=threads, bos=frame.bos is not None, eos=frame.eos is not None)
        found = chunk_rows(ragged, length, min_fill=min_fill, stride=stride, concatenate=concatenate)
        plan = Plan(padding="max_length", max_length=length, padding_side=self.padding_side)
        columns: dict[str, Any] = {"input_ids": found.rows}
        if return_attention_mask:
            columns["attention_mask"] = [[1] * len(row) for row in found.rows]
        if return_labels:
            columns["labels"] = found.rows
        columns = pad_columns(columns, plan if found.short else Plan(), self.pad_token_id, {"labels": -100})
        encoded = _finish(columns, return_tensors, flat=False)
        encoded.dropped = found.dropped
        return encoded

    def pad(
        self,
        encoded_inputs: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        padding: bool | str = True,
        max_length: int | None = None,
        *,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_attention_mask: bool | None = None,
        return_tensors: str | None = None,
        verbose: bool = True,
    ) -> Encoded:
        """Pads existing rows, as collators do: a list of dicts, or a dict of columns.

        Arrays and tensors give such, unless `return_tensors` asks for others. Columns that this library does not
        produce (`labels`) are unchanged. Raises `OptionError`, `WrongType`.
        """
        check_tensor_type(return_tensors)
        columns, many, kind = _columns(encoded_inputs)
        if return_attention_mask or return_attention_mask is None:
            columns.setdefault("attention_mask", [[1] * len(row) for row in columns["input_ids"]])
        plan = make_plan(
            self._settings, padding, False, max_length,
            pad_to_multiple_of=pad_to_multiple_of, padding_side=padding_side,
        )  # fmt: skip
        columns = pad_columns(columns, plan, self.pad_token_id)
        return _finish(columns, return_tensors or kind, flat=not many)

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **ignored: object) -> Any:
        """The text of ids, or the texts of several rows of ids. Invalid UTF-8 becomes U+FFFD.

        `clean_up_tokenization_spaces` and the like have no effect: decoding is exact. Others raise `UnknownOption`.
        """
        _check_ignored(self.decode, ignored, _NO_EFFECT_IN_DECODE, "skip_special_tokens")
        if isinstance(token_ids, Mapping) and "input_ids" not in token_ids:
            has = ", ".join(map(repr, token_ids)) or "no column"
            raise WrongType(f"there is no column 'input_ids' to decode, but {has}", fix="decode(row['input_ids'])")
        ids = to_plain(token_ids["input_ids"] if isinstance(token_ids, Mapping) else token_ids)
        if isinstance(ids, list) and ids and isinstance(ids[0], (list, tuple, Mapping)):
            return [self._decode_row(row, number, skip_special_tokens) for number, row in enumerate(ids)]
        return self._view.decode([ids] if isinstance(ids, int) else ids, skip_special=skip_special_tokens)

    def _decode_row(self, row: Any, number: int, skip_special_tokens: bool) -> Any:
        try:
            return self.decode(row, skip_special_tokens)
        except UnknownId as error:
            raise in_document(error, number) from None

    def batch_decode(self, sequences: Any, skip_special_tokens: bool = False, **ignored: object) -> list[str]:
        """The text of each row of ids; flat ids are one row."""
        _check_ignored(self.batch_decode, ignored, _NO_EFFECT_IN_DECODE, "skip_special_tokens")
        rows = to_plain(sequences)
        if isinstance(rows, list) and not rows:
            return []
        found = self.decode(rows, skip_special_tokens)
        return [found] if isinstance(found, str) else found

    def save_pretrained(
        self, save_directory: str | os.PathLike[str], *, verify: bool = True, force: bool = True, **ignored: object
    ) -> tuple[str, ...]:
        """Writes `tokenizer.json` and its config like `slmtok export`, ids verified equal; returns their paths.

        As in Hugging Face, existing files of these names are replaced. verify: compare the ids. Raises
        `Inexpressible`, `NotEqual`, `MissingExtra`, and `UnknownOption` for another option of Hugging Face that is set.
        """
        from slmtok.formats.export import export

        unset = [name for name in _UNSET_IN_SAVE if not ignored.get(name)]
        _check_ignored(self.save_pretrained, ignored, unset, "save_directory", "verify", "force")
        written = export(self._tok, "hf", save_directory, verify=verify, force=force, settings=self._saved_settings())
        return tuple(os.path.join(save_directory, name) for name in written["files"])  # noqa: PTH118  (as theirs: str)

    def _frame(self, add_special_tokens: bool, add_eos: bool | None) -> Frame:
        if not add_special_tokens:
            return Frame(eos=self._tok.specials["eos"] if add_eos else None)
        wanted = self._settings.add_eos if add_eos is None else add_eos
        return Frame(self.bos_token_id, self._tok.specials["eos"] if wanted else None)

    def _saved_settings(self) -> dict[str, Any]:
        """The settings in `tokenizer_config.json`."""
        settings = self._settings
        limit = settings.model_max_length
        return {
            "add_eos": settings.add_eos,
            "padding_side": settings.padding_side,
            "truncation_side": settings.truncation_side,
            **({} if self.pad_token is None else {"pad_token": self.pad_token}),
            **({} if limit == UNLIMITED else {"model_max_length": limit}),
        }

    def _warn_of_eos(self, texts: Sequence[Any]) -> None:
        """Warns once of texts that spell `eos`, as `eos_token.join(texts)` does."""
        spelling = self._unwarned_eos
        for text in texts if spelling is not None else ():
            if spelling in text:
                self.__dict__["_unwarned_eos"] = None
                warn_caller(
                    f"a text contains {spelling!r}, which is encoded as text and not as the special token eos; "
                    "use add_eos=True, or chunk(texts, length), which ends each text with it"
                )
                return

    # --- settings ---

    @property
    def model_max_length(self) -> int:
        """The default of `max_length`, for truncation and for padding to "max_length"."""
        return self._settings.model_max_length

    @property
    def padding_side(self) -> str:
        """The default of `padding_side`: "right" or "left"."""
        return self._settings.padding_side

    @property
    def truncation_side(self) -> str:
        """The side on which truncation removes ids."""
        return self._settings.truncation_side

    @property
    def tokenizer(self) -> Tokenizer:
        """The wrapped tokenizer of slmtok."""
        return self._tok

    # --- vocabulary ---

    @cached_property
    def _names(self) -> dict[int, str]:
        return names_by_id(self._tok.vocabulary)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: id for id, name in self._names.items()}

    @cached_property
    def _view(self) -> Any:
        """The tokenizer with the special tokens of an export, which decoding shows."""
        from slmtok.tokenizer import Tokenizer

        return Tokenizer(self._tok.vocabulary.with_specials(self._specials))

    @cached_property
    def _specials(self) -> Specials:
        return exported_specials(self._tok.vocabulary)

    @property
    def vocab_size(self) -> int:
        """Largest id + 1."""
        return self._tok.n_vocab

    def __len__(self) -> int:
        return self._tok.n_vocab

    def get_vocab(self) -> dict[str, int]:
        """Name -> id: ordinary tokens in GPT-2's characters, special tokens by their spelling."""
        return dict(self._ids)

    def get_vocab_size(self) -> int:
        """As `len`, under its name in `tokenizers`."""
        return self._tok.n_vocab

    def token_to_id(self, token: str) -> int | None:
        """The id of a name; None for an unknown name, as in `tokenizers`."""
        return self._ids.get(spelling_of(token))

    def id_to_token(self, id: int) -> str | None:
        """The name of an id; None for an unknown id, as in `tokenizers`."""
        return self._names.get(integer_id(id))

    @overload
    def convert_ids_to_tokens(self, ids: int, skip_special_tokens: bool = ...) -> str: ...
    @overload
    def convert_ids_to_tokens(self, ids: Iterable[int], skip_special_tokens: bool = ...) -> list[str]: ...
    def convert_ids_to_tokens(self, ids: int | Iterable[int], skip_special_tokens: bool = False) -> str | list[str]:
        """The name of an id, or the names of several. Raises `UnknownId`."""
        if isinstance(ids, int):
            return self._name(ids)
        skipped = set(self.all_special_ids) if skip_special_tokens else set()
        call = "tok.convert_ids_to_tokens({})"
        numbers = check_ids(check_row(ids, call), call=call)
        return [self._name(id) for id in numbers if id not in skipped]

    def convert_tokens_to_ids(self, tokens: str | Iterable[str]) -> Any:
        """The id of a name, or the ids of several; an unknown name has the id of the role `unk`, or None without it."""
        if not isinstance(tokens, Iterable) or isinstance(tokens, str):
            return self._ids.get(spelling_of(tokens), self.unk_token_id)
        return [self.convert_tokens_to_ids(token) for token in tokens]

    def convert_tokens_to_string(self, tokens: Iterable[str]) -> str:
        """The text of tokens given by name."""
        if isinstance(tokens, str):
            raise WrongType("tokens must be a list of names, not a str", fix="convert_tokens_to_string([name])")
        spelled = [
            (name, bytes_of(name)) for name in map(check_str, check_iterable(tokens, "convert_tokens_to_string"))
        ]
        parts = (utf8_of(name, "the token") if token is None else token for name, token in spelled)
        return b"".join(parts).decode("utf-8", "replace")

    def _name(self, id: int) -> str:
        refuse_bool(id)
        try:
            return self._names[id]
        except KeyError:
            raise UnknownId(
                f"id {value_text(id)} is not in the vocabulary",
                limit=f"0 <= id < {self._tok.n_vocab} (n_vocab)",
                fix="use an id that encode returned",
                id=id,
            ) from None

    # --- special tokens ---

    @cached_property
    def _special_tokens(self) -> dict[str, tuple[int, str]]:
        """Id and spelling by role."""
        found = {role: (id, self._specials.text(role)) for role, id in self._specials.items()}
        if self._settings.pad != "pad":
            pad = self._find(self._settings.pad)
            found["pad"] = pad.id, self._names[pad.id]
        return found

    @cached_property
    def _default_plan(self) -> Plan:
        """That of a call without options."""
        return make_plan(self._settings, False, None, None)

    def _find(self, name: str) -> SpecialToken:
        """The special token with this role, or a spelling of an export or of ours. Raises `UnknownSpecial`."""
        has_name = name in self._specials or name in self._specials.spellings
        return (self._specials if has_name else self._tok.specials).find(name)

    @property
    def special_tokens_map(self) -> dict[str, str]:
        """Attribute name (`bos_token`, ...) -> spelling."""
        found = self._special_tokens
        return {f"{role}_token": found[role][1] for role in (*_ROLES, "pad") if role in found}

    @property
    def all_special_ids(self) -> list[int]:
        """The ids of all special tokens, reserved ones included."""
        return [token.id for token in self._tok.specials.tokens]

    @property
    def all_special_tokens(self) -> list[str]:
        """The spellings of all special tokens."""
        return [self._names[id] for id in self.all_special_ids]

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """The number of special tokens that a call adds to a text, or to a pair."""
        each = ("bos" in self._tok.specials) + self._settings.add_eos
        return each * (1 + bool(pair))

    def get_special_tokens_mask(self, token_ids: Iterable[int], already_has_special_tokens: bool = True) -> list[int]:
        """1 for each special token, 0 for others."""
        specials = set(self.all_special_ids)
        call = "tok.get_special_tokens_mask({})"
        return [int(id in specials) for id in check_ids(check_row(token_ids, call), call=call)]


def _columns(encoded: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], bool, str | None]:
    """(columns of lists, whether there are several rows, the type of the given tensors)."""
    if not isinstance(encoded, Mapping):
        rows = list(encoded) if isinstance(encoded, Iterable) else [None]
        if not all(isinstance(row, Mapping) for row in rows):
            raise WrongType("pad takes rows as dicts", limit="{'input_ids': [...]}", fix="pad({'input_ids': rows})")
        encoded = {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}
    if "input_ids" not in encoded:
        raise OptionError(
            "there is no column input_ids to pad",
            limit=f"columns: {', '.join(map(value_text, encoded)) or 'none'}",
            fix="pad(tok(texts))",
            option="encoded_inputs",
        )
    columns = {name: to_plain(value) for name, value in encoded.items()}
    ids = columns["input_ids"]
    many = not ids or not isinstance(ids[0], int)
    kind = tensor_type_of(encoded["input_ids"])
    return (columns if many else {name: [value] for name, value in columns.items()}), many, kind


def _check_ignored(
    method: Callable[..., Any], given: Mapping[str, object], ignored: Collection[str], *options: str
) -> None:
    """Raises `UnknownOption` for a keyword that is not in `ignored`."""
    for name, value in given.items():
        if name not in ignored:
            meant = suggestion(name, options)
            raise UnknownOption(
                f"{method.__name__}() has no option {name!r}" + (f"; did you mean {meant!r}?" if meant else ""),
                limit=f"options: {', '.join(options)}",
                fix=(Setting(meant, value),) if meant else help_call(method),
                option=name,
            )


def _finish(columns: Mapping[str, Any], kind: str | None, *, flat: bool) -> Encoded:
    """The result of a call; `flat`: columns of one row without the dimension of rows."""
    if flat:
        columns = {name: column[0] if isinstance(column[0], list) else column for name, column in columns.items()}
    if kind is None:
        return Encoded(columns)
    return Encoded({name: to_array(name, column, kind) for name, column in columns.items()})


def _by_role(role: str) -> None:
    """Adds the properties `<role>_token` and `<role>_token_id`, which are None without such a special token."""

    def text(self: HFTokenizer) -> str | None:
        return self._special_tokens.get(role, (None, None))[1]

    def number(self: HFTokenizer) -> int | None:
        return self._special_tokens.get(role, (None, None))[0]

    text.__doc__ = f"The spelling of the special token with the role `{role}`, or None."
    number.__doc__ = f"The id of the special token with the role `{role}`, or None."
    setattr(HFTokenizer, f"{role}_token", property(text))
    setattr(HFTokenizer, f"{role}_token_id", property(number))


for _role in (*_ROLES, "pad", "cls"):
    _by_role(_role)
