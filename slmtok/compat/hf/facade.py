"""`HFTokenizer`: a tokenizer as training scripts for Hugging Face models expect it. Immutable and hashable.

It is a function of the tokenizer file and of the few settings of `as_hf`, so `datasets.map` finds its cache again: its
pickle carries the bytes of the file and these settings, nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

from slmtok.compat.hf.chunks import chunk_rows
from slmtok.compat.hf.encoded import Encoded
from slmtok.compat.hf.names import Names
from slmtok.compat.hf.padding import pad_columns
from slmtok.compat.hf.plan import UNLIMITED, Plan, make_plan
from slmtok.compat.hf.rows import Frame, make_rows, texts_of
from slmtok.compat.hf.tensors import check_kind, tensor
from slmtok.errors import InvalidOption

__all__ = ["HFTokenizer"]


@final
class HFTokenizer(Names):
    """What `as_hf(tok)` gives. See the package for where it differs from Hugging Face's own.

    Sizes are in ids. `add_special_tokens` puts the role `bos` before each text where there is one; `add_eos` the role
    `eos` behind it. Two are equal when their tokenizers and settings are.
    """

    def __call__(
        self,
        text: str | Sequence[str],
        text_pair: str | Sequence[str] | None = None,
        *,
        add_special_tokens: bool = True,
        add_eos: bool | None = None,
        padding: bool | str = False,
        truncation: bool | str | None = None,
        max_length: int | None = None,
        stride: int = 0,
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
        """The ids of a text, of many, or of pairs, with what belongs to them, as columns.

        padding: False, True ("longest") or "max_length". truncation: False, True ("longest_first"), "only_first" or
        "only_second"; None cuts where `max_length` stands alone. stride: ids that a row repeats of the one before.
        return_overflowing_tokens: what is cut off makes rows of its own; `overflow_to_sample_mapping` numbers the
        sample of each row. return_tensors: "np" or "pt", int64. return_offsets_mapping: (start, end) in characters.
        A lone text gives flat columns unless it overflows or becomes tensors. Raises `InvalidOption`, `WrongType`,
        `InvalidText`.
        """
        plan = self._plan(
            padding, truncation, max_length, stride=stride, multiple=pad_to_multiple_of, padding_side=padding_side
        )
        check_kind(return_tensors)
        texts, many = texts_of(text)
        pairs = self._pairs(text_pair, len(texts), many)
        frame = self._frame(add_special_tokens, add_eos)
        rows = make_rows(self._tok, texts, pairs, plan, frame, overflow=return_overflowing_tokens, threads=threads)
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
        flat = not many and return_tensors is None and not return_overflowing_tokens
        return _delivered(columns, return_tensors, flat=flat)

    def encode(
        self, text: str, text_pair: str | None = None, *, add_special_tokens: bool = True, add_eos: bool | None = None
    ) -> list[int]:
        """The ids of one text or pair, framed by specials unless `add_special_tokens=False`."""
        ids: list[int] = self(text, text_pair, add_special_tokens=add_special_tokens, add_eos=add_eos)["input_ids"]
        return ids

    def tokenize(self, text: str) -> list[str]:
        """The names of the tokens of a text, without specials around it."""
        return [self.convert_ids_to_tokens(id) for id in self.encode(text, add_special_tokens=False, add_eos=False)]

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
        """Rows of exactly `length` ids for training: all texts one after the other, cut into equal parts.

        What is left at the end becomes a row filled with the pad token if it has at least `min_fill` of the length
        (0 keeps any, 1 only full ones); otherwise it is left out, and `dropped` of the result says how many ids that
        were. concatenate=False cuts each text for itself, so that no row holds parts of two. stride: ids that a row
        repeats of the one before. add_special_tokens, add_eos: the frame of each text. return_labels: `labels`, the
        ids with -100 where a row is filled. Raises `InvalidOption`, `WrongType`.
        """
        check_kind(return_tensors)
        many, _ = texts_of(texts, "texts")
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
        encoded = _delivered(columns, return_tensors, flat=False)
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
        """Fills rows that exist already, as collators do: a list of dicts, or a dict of columns.

        Columns that this library does not make (`labels`) are handed on as they are. Raises `InvalidOption`.
        """
        check_kind(return_tensors)
        columns, many = _columns(encoded_inputs)
        if return_attention_mask or return_attention_mask is None:
            columns.setdefault("attention_mask", [[1] * len(row) for row in columns["input_ids"]])
        plan = self._plan(padding, False, max_length, multiple=pad_to_multiple_of, padding_side=padding_side)
        columns = pad_columns(columns, plan, self.pad_token_id)
        return _delivered(columns, return_tensors, flat=not many and return_tensors is None)

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **ignored: object) -> Any:
        """The text of ids; of many rows of ids, the list of their texts. Bytes that are no UTF-8 become U+FFFD.

        Hugging Face's further options (`clean_up_tokenization_spaces`) change nothing: text comes back as it was.
        """
        ids = token_ids.tolist() if hasattr(token_ids, "tolist") else token_ids
        if isinstance(ids, int):
            ids = [ids]
        if isinstance(ids, Iterable) and not isinstance(ids, (str, bytes)):
            rows = list(ids)
            if rows and not isinstance(rows[0], int):
                return [self.decode(row, skip_special_tokens) for row in rows]
            ids = rows
        return self._view.decode(ids, skip_special=skip_special_tokens)

    def batch_decode(self, sequences: Iterable[Any], skip_special_tokens: bool = False, **ignored: object) -> list[str]:
        """The text of each row of ids."""
        rows = sequences.tolist() if hasattr(sequences, "tolist") else sequences
        return [self.decode(row, skip_special_tokens) for row in rows]

    def save_pretrained(
        self, save_directory: str | os.PathLike[str], *, unverified: bool = False, force: bool = True, **ignored: object
    ) -> tuple[str, ...]:
        """Writes `tokenizer.json` and its config as `slmtok export --output-format hf` does, proven equal; gives their paths.

        As with Hugging Face, files of that name are replaced and others stay. unverified: compare nothing. Raises
        `Inexpressible`, `NotEqual`, `MissingExtra`.
        """
        from slmtok.formats.export import export

        written = export(
            self._tok, "hf", save_directory, unverified=unverified, force=force, settings=self._saved_settings()
        )
        return tuple(os.path.join(save_directory, name) for name in written["files"])  # noqa: PTH118  (as theirs: str)

    # --- parts of a call ----------------------------------------------------------------------------------------------

    def _plan(
        self,
        padding: bool | str,
        truncation: bool | str | None,
        max_length: int | None,
        *,
        multiple: int | None,
        padding_side: str | None,
        stride: int = 0,
    ) -> Plan:
        return make_plan(
            padding=padding,
            truncation=truncation,
            max_length=max_length,
            stride=stride,
            pad_to_multiple_of=multiple,
            padding_side=self.padding_side if padding_side is None else padding_side,
            truncation_side=self.truncation_side,
            model_max_length=self.model_max_length,
        )

    def _frame(self, add_special_tokens: bool, add_eos: bool | None) -> Frame:
        if not add_special_tokens:
            return Frame(eos=self._eos() if add_eos else None)
        wanted = self._settings.add_eos if add_eos is None else add_eos
        return Frame(self.bos_token_id, self._eos() if wanted else None)

    def _saved_settings(self) -> dict[str, Any]:
        """What `tokenizer_config.json` says of this façade."""
        settings = self._settings
        limit = settings.model_max_length
        return {
            "add_eos": settings.add_eos,
            "padding_side": settings.padding_side,
            "truncation_side": settings.truncation_side,
            **({} if self.pad_token is None else {"pad_token": self.pad_token}),
            **({} if limit == UNLIMITED else {"model_max_length": limit}),
        }

    def _eos(self) -> int:
        return self._tok.specials["eos"]

    def _pairs(self, text_pair: object, expected: int, many: bool) -> list[str] | None:
        if text_pair is None:
            return None
        pairs, pairs_many = texts_of(text_pair, "text_pair")
        if pairs_many != many or len(pairs) != expected:
            raise InvalidOption(
                f"{expected} texts and {len(pairs)} in text_pair make no pairs",
                limit="two texts, or two lists of one length",
                fix="text_pair=[one for each text]",
                option="text_pair",
            )
        return pairs


def _columns(encoded: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], bool]:
    """(columns of lists, whether there are many rows)."""
    if isinstance(encoded, Mapping):
        columns = {name: _listed(value) for name, value in encoded.items()}
    else:
        rows = list(encoded)
        columns = {name: [_listed(row[name]) for row in rows] for name in (rows[0] if rows else {})}
    if "input_ids" not in columns:
        raise InvalidOption(
            "there is no column input_ids to pad",
            limit=f"columns: {', '.join(columns) or 'none'}",
            fix="pad(tok(texts))",
            option="encoded_inputs",
        )
    ids = columns["input_ids"]
    many = not ids or not isinstance(ids[0], int)
    return (columns if many else {name: [value] for name, value in columns.items()}), many


def _listed(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _delivered(columns: Mapping[str, Any], kind: str | None, *, flat: bool) -> Encoded:
    if kind is not None:
        return Encoded({name: tensor(name, column, kind) for name, column in columns.items()})
    if flat:
        return Encoded({name: column[0] if isinstance(column[0], list) else column for name, column in columns.items()})
    return Encoded(columns)
