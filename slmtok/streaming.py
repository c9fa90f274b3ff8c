"""`StreamDecoder`: text from ids as they come. The engine's decoder, for ids that it could not even take as well."""

from __future__ import annotations

from typing import final

from slmtok import _engine
from slmtok.errors import UnknownId
from slmtok.id_rows import checked, completed, unknown


@final
class StreamDecoder:
    """Text as soon as its characters are complete; ill-formed bytes become U+FFFD, one for each maximal part."""

    __slots__ = ("_decoder", "_encoder")

    def __init__(self, encoder: _engine.Encoder) -> None:
        self._encoder = encoder
        self._decoder = _engine.StreamDecoder(encoder)

    def push(self, id: int) -> str:
        """The text that is complete with this id. Raises `UnknownId`, `WrongType`, and is then as it was before."""
        try:
            return self._decoder.push(id)
        except UnknownId as error:
            raise completed(error) from None
        except (OverflowError, TypeError):
            pass
        try:
            return self._decoder.push(checked([id])[0])
        except UnknownId:
            raise unknown(id, self._encoder.n_vocab, self._position()) from None

    def _position(self) -> int:
        """How many ids it has taken: the engine tells with a refusal, which changes nothing."""
        try:
            self._decoder.push(-1)
        except UnknownId as error:
            position = error.fields["position"]
            return position if isinstance(position, int) else 0
        return 0

    def finish(self) -> str:
        """What is left: U+FFFD for an unfinished character, else nothing."""
        return self._decoder.finish()
