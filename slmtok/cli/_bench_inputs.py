"""What `slmtok bench` measures, and with what: peers by name, documents as text, the tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from slmtok.cli._tokenizers import TIKTOKEN, open_tokenizer
from slmtok.errors import InvalidOption, InvalidText

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

STORIES = 2_000_000
"""Bytes of stories where no text is given."""
VOCAB = 8192
"""Ids of the tokenizer that is trained where none is given; fewer where the text cannot fill them."""


def peers_of(names: str) -> list[str]:
    """The peers of `--against`. Raises what `check_peers` raises, and `InvalidOption` for none."""
    from slmtok.bench.comparison import check_peers

    peers = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not peers:
        raise InvalidOption("--against names nobody", where="slmtok bench", fix="--against tiktoken", option="against")
    check_peers(peers)
    return peers


def text_of(corpus: Sequence[str], *, max_bytes: int | None, **read: Any) -> list[str]:
    """All documents as `str`, which is what peers take. Raises `InvalidText` for bytes that are no UTF-8."""
    from slmtok.corpus import ReadOptions, documents, expand

    if not corpus:
        return _stories(STORIES if max_bytes is None else max_bytes)
    found: list[str] = []
    room = max_bytes
    for number, data in enumerate(documents(expand(list(corpus)), ReadOptions(**read))):
        if room is not None:
            data, room = data[:room], room - len(data[:room])
        found.append(_decoded(data, number, cut=room == 0))
        if room == 0:
            break
    if not any(found):
        raise InvalidOption(
            "there is no text in --on", where=", ".join(corpus), fix="name a file with text", option="on"
        )
    return found


def _decoded(data: bytes, number: int, *, cut: bool) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if cut and error.reason == "unexpected end of data":
            return data[: error.start].decode()
        raise InvalidText(
            f"document {number} is not UTF-8: byte 0x{data[error.start]:02x}",
            where=f"byte {error.start} of the document",
            limit="other tokenizers take text alone",
            fix="measure on text that is UTF-8",
            document=number,
            position=error.start,
        ) from error


def _stories(size: int) -> list[str]:
    from slmtok.stories import stories

    found: list[str] = []
    for text in stories():
        if size <= 0:
            break
        found.append(text[:size])
        size -= len(text.encode())
    return found


def tokenizer_of(name: str | None, documents: Sequence[str]) -> tuple[Tokenizer, str]:
    """The tokenizer, and the name of the public encoding that it is, or "own"."""
    import slmtok
    from slmtok.formats.tiktoken_encodings import ENCODINGS

    if name is None:
        texts = slmtok.Texts(documents)
        return slmtok.train(texts, vocab=VOCAB, pattern="gpt2", allow_smaller=True), "own"
    public = name.removeprefix(TIKTOKEN)
    known = public if name != public and public in ENCODINGS else "own"
    return open_tokenizer(name), known
