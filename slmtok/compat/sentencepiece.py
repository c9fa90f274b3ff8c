"""SentencePiece's `SentencePieceProcessor` on a tokenizer of ours: the calls of programs that encode and decode.

As there, control ids are decoded to nothing, a role that the tokenizer lacks has id -1, an unknown piece has the id of
`unk`, and an id out of range is an `IndexError`. On purpose it differs: text is neither normalised nor given a space in
front, so decoding gives back what was encoded; a piece is the text of a token as it stands, its space a space, and a
byte that is no text alone is spelled `<0xE2>`; `.model` files are not read. Sampling and n-best are refused: our
encoder has one segmentation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from slmtok.errors import InvalidOption, MissingInput, UnknownId, WrongType

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

__all__ = ["SentencePieceProcessor"]

_ESCAPED = re.compile(rb"(?:<0x[0-9A-F]{2}>)+")


class SentencePieceProcessor:
    """Encodes and decodes with one tokenizer, which is loaded once."""

    def __init__(
        self,
        model_file: str | os.PathLike[str] | None = None,
        *,
        add_bos: bool = False,
        add_eos: bool = False,
        out_type: type | str = int,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        """model_file: a tokenizer file of ours; or `tokenizer`, one that is loaded. The rest are defaults of `encode`.

        Raises `MissingInput`, `CorruptFile`, `InvalidOption`.
        """
        self._tokenizer = tokenizer
        self._add_bos, self._add_eos, self._out = add_bos, add_eos, _kind(out_type)
        if model_file is not None:
            self.load(model_file)

    def load(self, model_file: str | os.PathLike[str]) -> bool:
        """Loads a tokenizer file of ours; True. Raises `MissingInput`, `CorruptFile`."""
        from slmtok.tokenizer import load

        self._tokenizer = load(model_file)
        return True

    Load = load

    @property
    def tokenizer(self) -> Tokenizer:
        """Ours beneath it. Raises `MissingInput` before one is loaded."""
        if self._tokenizer is None:
            raise MissingInput(
                "no tokenizer is loaded", where="SentencePieceProcessor", fix="SentencePieceProcessor('tok.json')"
            )
        return self._tokenizer

    # --- text and ids -------------------------------------------------------------------------------------------------

    def encode(
        self,
        input: str | Sequence[str],
        out_type: type | str | None = None,
        add_bos: bool | None = None,
        add_eos: bool | None = None,
        reverse: bool = False,
        enable_sampling: bool = False,
        alpha: float = 0.1,
        nbest_size: int = -1,
        num_threads: int = -1,
    ) -> list[Any]:
        """The ids (`out_type=int`) or pieces (`str`) of a text, or of each of a list.

        add_bos, add_eos: put these specials around each text. reverse: the last first. alpha belongs to sampling, which
        is refused, as is nbest_size beyond 1. Raises `InvalidOption`, `WrongType`.
        """
        if enable_sampling or nbest_size not in (-1, 0, 1):
            what = "enable_sampling=True" if enable_sampling else f"nbest_size={nbest_size}"
            raise InvalidOption(
                f"{what}: a text has one segmentation here",
                where="encode",
                limit="no sampling, no n-best",
                fix="leave it out",
                option="enable_sampling" if enable_sampling else "nbest_size",
            )
        kind = self._out if out_type is None else _kind(out_type)
        bos = self._add_bos if add_bos is None else add_bos
        eos = self._add_eos if add_eos is None else add_eos
        if isinstance(input, str):
            return self._row(self.tokenizer.encode_list(input, bos=bos, eos=eos), kind, reverse)
        if not isinstance(input, (list, tuple)):
            raise WrongType(f"encode takes a str or a list of them, not {type(input).__name__}", fix="encode(['text'])")
        rows = self.tokenizer.encode_batch(input, threads=max(num_threads, 0), bos=bos, eos=eos)
        return [self._row(row, kind, reverse) for row in rows.to_lists()]

    def _row(self, ids: list[int], kind: type, reverse: bool) -> list[Any]:
        ordered = ids[::-1] if reverse else ids
        return list(map(self.id_to_piece, ordered)) if kind is str else ordered

    def decode(self, input: Any) -> Any:
        """The text of ids or of pieces; of a list of such lists a list of texts. Raises `IndexError`."""
        if isinstance(input, (Integral, str)):
            input = [input]
        if input and isinstance(input[0], (list, tuple)):
            return [self.decode(row) for row in input]
        ids = [self.piece_to_id(one) if isinstance(one, str) else self._checked(one) for one in input]
        return self.tokenizer.decode(ids, skip_special=True)

    def encode_as_ids(self, input: str | Sequence[str]) -> list[Any]:
        """`encode` with `out_type=int`."""
        return self.encode(input, out_type=int)

    def encode_as_pieces(self, input: str | Sequence[str]) -> list[Any]:
        """`encode` with `out_type=str`."""
        return self.encode(input, out_type=str)

    def decode_ids(self, input: Sequence[Any]) -> Any:
        """As `decode`."""
        return self.decode(input)

    def decode_pieces(self, input: Sequence[Any]) -> Any:
        """As `decode`."""
        return self.decode(input)

    EncodeAsIds, EncodeAsPieces, DecodeIds, DecodePieces = encode_as_ids, encode_as_pieces, decode_ids, decode_pieces
    Encode, Decode = encode, decode

    # --- pieces -------------------------------------------------------------------------------------------------------

    def piece_to_id(self, piece: str | Sequence[str]) -> Any:
        """The id of a piece, that of `unk` for one that is none; of a list, a list."""
        if not isinstance(piece, str):
            return [self.piece_to_id(one) for one in piece]
        spellings = self.tokenizer.specials.spellings
        if piece in spellings:
            return spellings[piece]
        data = piece.encode("utf-8", "surrogateescape")
        if _ESCAPED.fullmatch(data):
            data = bytes(int(pair, 16) for pair in re.findall(rb"0x(..)", data))
        found = self.tokenizer.token_id(data)
        return self.unk_id() if found is None else found

    def id_to_piece(self, id: Any) -> Any:
        """The piece of an id; of a list, a list. A reserved id is `<reserved_6>`. Raises `IndexError`."""
        if not isinstance(id, Integral):
            return [self.id_to_piece(one) for one in id]
        number = self._checked(int(id))
        if self.is_control(number):
            names = {id: text for text, id in self.tokenizer.specials.spellings.items()}
            return names.get(number, f"<reserved_{number}>")
        data = self.tokenizer.token_bytes(number)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return "".join(f"<0x{byte:02X}>" for byte in data)

    def get_piece_size(self) -> int:
        """Ids, specials included."""
        return self.tokenizer.n_vocab

    vocab_size = piece_size = GetPieceSize = get_piece_size
    PieceToId, IdToPiece = piece_to_id, id_to_piece
    __len__ = get_piece_size

    def is_byte(self, id: int) -> bool:
        """Whether an id is one byte. Raises `IndexError`."""
        return not self.is_control(id) and len(self.tokenizer.token_bytes(id)) == 1

    def is_control(self, id: int) -> bool:
        """Whether an id is a special, which stands for no text. Raises `IndexError`."""
        return int(self.tokenizer.byte_lengths()[self._checked(id)]) == 0

    def is_unknown(self, id: int) -> bool:
        """Whether an id is that of `unk`. Raises `IndexError`."""
        return self._checked(id) == self.unk_id()

    def bos_id(self) -> int:
        """1 in our layout; -1 where there is none."""
        return self._role("bos")

    def eos_id(self) -> int:
        """2 in our layout; -1 where there is none."""
        return self._role("eos")

    def pad_id(self) -> int:
        """3 in our layout; -1 where there is none."""
        return self._role("pad")

    def unk_id(self) -> int:
        """0 in our layout, which encoding never gives; -1 where there is none."""
        return self._role("unk")

    def _role(self, role: str) -> int:
        specials = self.tokenizer.specials
        return specials.get(role, -1)

    def _checked(self, id: int) -> int:
        if not 0 <= id < self.tokenizer.n_vocab:
            raise PieceOutOfRange(
                f"piece id {id} is out of range",
                limit=f"0 <= id < {self.tokenizer.n_vocab}",
                fix="decode what encode gave",
                id=id,
            )
        return id


class PieceOutOfRange(UnknownId, IndexError):  # noqa: N818  (named as the others are)
    """An id that the vocabulary does not have; an `IndexError`, as in SentencePiece."""


def _kind(out_type: object) -> type:
    found = next((kind for kind in (int, str) if out_type in (kind, kind.__name__)), None)
    if found is None:
        raise InvalidOption(
            f"out_type={out_type!r} is not offered", limit="int, str", fix="out_type=int", option="out_type"
        )
    return found
