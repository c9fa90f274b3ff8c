"""SentencePiece's `SentencePieceProcessor` on a tokenizer of ours, for programs that encode and decode.

As there: special ids decode to nothing, a missing role has id -1, an unknown piece has the id of `unk` and decodes to
its text, with a space for `▁`; an id out of range is an `IndexError`. Intended differences: text is neither normalised
nor prefixed by a space; pieces are the text of tokens, invalid UTF-8 spelled `<0xE2>`; `.model` files are not read; no
sampling, no n-best.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partialmethod
from typing import Any

from slmtok.compat._shared import check_out_type, check_piece_id, decode_pieces, explain_adapter, find_piece, read_model
from slmtok.errors import MissingInput, OptionError, Setting, WrongType
from slmtok.path_arguments import with_names
from slmtok.tokenizer import Tokenizer, check_tokenizer

__all__ = ["SentencePieceProcessor"]


class SentencePieceProcessor:
    """Encodes and decodes with one tokenizer."""

    def __init__(
        self,
        model_file: str | os.PathLike[str] | Tokenizer | None = None,
        *,
        add_bos: bool = False,
        add_eos: bool = False,
        out_type: type | str = int,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        """model_file or `tokenizer`: a tokenizer file of ours, or a loaded one. The others are defaults of `encode`."""
        self._tokenizer = None if tokenizer is None else check_tokenizer(tokenizer)
        self._add_bos, self._add_eos, self._out_type = add_bos, add_eos, check_out_type(out_type)
        if model_file is not None:
            self.load(model_file)

    def load(self, model_file: str | os.PathLike[str] | Tokenizer) -> bool:
        """Loads a tokenizer file of ours. Raises `MissingInput`, `CorruptFile`."""
        self._tokenizer = read_model(model_file)
        return True

    @property
    def tokenizer(self) -> Tokenizer:
        """The wrapped tokenizer. Raises `MissingInput` before one is loaded."""
        if self._tokenizer is None:
            raise MissingInput("no tokenizer is loaded", fix=with_names("SentencePieceProcessor('{TOK}')"))
        return self._tokenizer

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
        """The ids (`out_type=int`) or pieces (`str`) of a text, or of each text of a list.

        add_bos, add_eos: special tokens around each text. reverse: last first. Raises `OptionError` for sampling.
        """
        if enable_sampling or nbest_size not in (-1, 0, 1):
            option, value = ("enable_sampling", True) if enable_sampling else ("nbest_size", nbest_size)
            fact = (Setting(option, value), " is not offered")
            raise OptionError(fact, limit="no sampling", fix="drop it", option=option)
        out = self._out_type if out_type is None else check_out_type(out_type)
        bos = self._add_bos if add_bos is None else add_bos
        eos = self._add_eos if add_eos is None else add_eos
        if not isinstance(input, (str, list, tuple)):
            raise WrongType(f"encode takes a str or a list of str, not {type(input).__name__}", fix="encode(['text'])")
        if isinstance(input, str):
            rows = [self.tokenizer.encode_list(input, bos=bos, eos=eos)]
        else:
            rows = self.tokenizer.encode_batch(input, threads=max(num_threads, 0), bos=bos, eos=eos).to_lists()
        rows = [row[::-1] for row in rows] if reverse else rows
        found: list[Any] = list(map(self.id_to_piece, rows)) if out is str else rows
        return found[0] if isinstance(input, str) else found

    def decode(self, input: Any) -> Any:
        """The text of ids or pieces, or the texts of several such lists. Raises `IndexError`."""
        return decode_pieces(self.tokenizer, input)

    def piece_to_id(self, piece: str | Sequence[str]) -> Any:
        """The id of a piece, or of each piece of a list; an unknown piece has the id of `unk`."""
        if isinstance(piece, (list, tuple)):
            return [self.piece_to_id(item) for item in piece]
        id = find_piece(self.tokenizer, piece)
        return self.unk_id() if id is None else id

    def id_to_piece(self, id: Any) -> Any:
        """The piece of an id, or of each id of a list. A reserved id is `<reserved_6>`. Raises `IndexError`."""
        if isinstance(id, Iterable) and not isinstance(id, str):
            return [self.id_to_piece(item) for item in id]
        number = int(self._check_id(id))
        if self.is_control(number):
            names = {id: text for text, id in self.tokenizer.specials.spellings.items()}
            return names.get(number, f"<reserved_{number}>")
        data = self.tokenizer.token_bytes(number)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return "".join(f"<0x{byte:02X}>" for byte in data)

    def get_piece_size(self) -> int:
        """The number of ids, special tokens included."""
        return self.tokenizer.n_vocab

    def is_byte(self, id: int) -> bool:
        """Whether an id is one byte. Raises `IndexError`."""
        return not self.is_control(id) and len(self.tokenizer.token_bytes(id)) == 1

    def is_control(self, id: int) -> bool:
        """Whether an id is a special token. Raises `IndexError`."""
        return int(self.tokenizer.byte_lengths()[self._check_id(id)]) == 0

    def _check_id(self, id: Any) -> int:
        return check_piece_id(id, self.tokenizer.n_vocab)

    def is_unknown(self, id: int) -> bool:
        """Whether an id is that of `unk`. Raises `IndexError`."""
        return bool(self._check_id(id) == self.unk_id())

    def _role_id(self, role: str) -> int:
        return self.tokenizer.specials.get(role, -1)

    bos_id, eos_id = partialmethod(_role_id, "bos"), partialmethod(_role_id, "eos")
    pad_id, unk_id = partialmethod(_role_id, "pad"), partialmethod(_role_id, "unk")
    encode_as_ids, encode_as_pieces = partialmethod(encode, out_type=int), partialmethod(encode, out_type=str)
    decode_ids = decode_pieces = DecodeIds = DecodePieces = Decode = decode
    EncodeAsIds, EncodeAsPieces, Encode, Load = encode_as_ids, encode_as_pieces, encode, load
    vocab_size = piece_size = GetPieceSize = __len__ = get_piece_size
    PieceToId, IdToPiece = piece_to_id, id_to_piece


explain_adapter(globals())
