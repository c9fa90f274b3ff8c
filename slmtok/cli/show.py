"""`slmtok show`: the token boundaries of a text; for several tokenizers, or for the four schemes, side by side."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slmtok.analysis.token_classes import text_of
from slmtok.cli import token_view
from slmtok.cli.files import STDIO, is_tokenizer, open_tokenizer
from slmtok.cli.options import TOKENIZER, argument, command, option
from slmtok.cli.output import Outcome, grouped, has_colour, settings, styled, write_text
from slmtok.corpus.streams import open_bytes
from slmtok.errors import MissingInput, OptionError
from slmtok.token_text import escape_token

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

DEFAULT_TEXT = (
    "Once upon a time there was a little fox who didn't like the rain 🦊.\n"
    "She said: “2026 was warm, wasn't it? Café naïve, 今天天气很好!”\n"
)
SCHEME_VOCAB_SIZE = 2048
SCHEME_STORIES = 1000
"""Ids of each scheme, and stories that it is trained on, when no tokenizer is given."""
MAX_BAR_COLUMNS = 60


@dataclass(frozen=True)
class Segmentation:
    """The tokens of one text under one tokenizer."""

    name: str
    tokenizer: Tokenizer
    ids: tuple[int, ...]
    tokens: tuple[bytes, ...]

    @classmethod
    def of(cls, name: str, tokenizer: Tokenizer, data: bytes) -> Segmentation:
        """Encodes a text."""
        pieces = tokenizer.pieces(data)
        return cls(name, tokenizer, tuple(id for id, _ in pieces), tuple(token for _, token in pieces))

    @property
    def bytes_per_token(self) -> float:
        """0 for an empty text."""
        return sum(map(len, self.tokens)) / len(self.ids) if self.ids else 0.0

    def to_dict(self) -> dict[str, object]:
        """As `--json` prints it; `start` and `stop` are bytes of the text."""
        pieces: list[dict[str, object]] = []
        start = 0
        for id, token in zip(self.ids, self.tokens, strict=True):
            stop = start + len(token)
            pieces.append({"id": id, "text": text_of(token), "hex": token.hex(), "start": start, "stop": stop})
            start = stop
        return {
            "name": self.name,
            "scheme": self.tokenizer.scheme,
            "n_vocab": self.tokenizer.n_vocab,
            "fingerprint": self.tokenizer.fingerprint,
            "tokens": len(self.ids),
            "bytes_per_token": round(self.bytes_per_token, 6),
            "pieces": pieces,
        }


@command("show", example='slmtok show tok.json "Once upon a time"')
@argument("items", metavar="[TOK...] [TEXT|-]", nargs=-1, help=f"Any number of {TOKENIZER}; then the text.")
@option("--tokenizer", "-t", "more", metavar="TOK", multiple=True, help="A further tokenizer. Repeat for several.")
@option("--ids", is_flag=True, help="List every token with its id below.")
@option("--bytes", "show_bytes", is_flag=True, help="List every token with its bytes below, in hex.")
def show(items: tuple[str, ...], more: tuple[str, ...], ids: bool, show_bytes: bool) -> Outcome:
    """Show the token boundaries of a text.

    \b
    slmtok show tok.json "Once upon a time"    one tokenizer
    slmtok show tok.json tiktoken:gpt2 -       several, on the text from stdin
    slmtok show "Once upon a time"             the four schemes, trained on generated stories
    """
    names, text = _split_arguments(items, more)
    data = _read(text)
    found = [Segmentation.of(name, open_tokenizer(name), data) for name in names] if names else _schemes(data)
    return Outcome(
        {"bytes": len(data), "tokenizers": [one.to_dict() for one in found]},
        lambda: _print(found, len(data), ids=ids, show_bytes=show_bytes),
    )


def _split_arguments(items: Sequence[str], more: Sequence[str]) -> tuple[list[str], str | None]:
    """(tokenizers, text): leading arguments that name tokenizers; one more argument is the text."""
    names, rest = list(more), list(items)
    while rest and is_tokenizer(rest[0]):
        names.append(rest.pop(0))
    if rest and rest[0].endswith(".json") and not any(char.isspace() for char in rest[0]):
        raise MissingInput(f"no file {rest[0]!r}", fix="check the name, or add a space if it is text", path=rest[0])
    if len(rest) > 1:
        raise OptionError(
            f"{rest[0]!r} is not a tokenizer file, and the text is one argument", fix="put quotes around the text"
        )
    return names, rest[0] if rest else None


def _read(text: str | None) -> bytes:
    if text == STDIO or (text is None and _stdin_has_data()):
        with open_bytes(STDIO) as stream:
            return stream.read()
    return DEFAULT_TEXT.encode() if text is None else os.fsencode(text)


def _stdin_has_data() -> bool:
    """Whether stdin is a pipe or a file: not a terminal, not /dev/null, not closed."""
    if sys.stdin is None:
        return False
    try:
        return not stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _schemes(data: bytes) -> list[Segmentation]:
    """The text under every scheme, each trained on the first of the generated stories."""
    import slmtok
    from slmtok.schemes import SCHEMES
    from slmtok.stories import story

    texts = [story(index) for index in range(SCHEME_STORIES)]
    found = []
    for name, scheme in SCHEMES.items():
        size = None if scheme.fixed_size else SCHEME_VOCAB_SIZE
        tokenizer = slmtok.train(slmtok.Texts(texts), vocab_size=size, scheme=name, allow_smaller=True)
        found.append(Segmentation.of(name, tokenizer, data))
    return found


def _print(found: Sequence[Segmentation], size: int, *, ids: bool, show_bytes: bool) -> None:
    quiet = settings().quiet
    width = max(40, shutil.get_terminal_size((100, 24)).columns - 2)
    for index, one in enumerate(found):
        if not quiet:
            name = styled(one.name, sys.stdout, bold=True)
            about = f"{one.tokenizer.scheme}, {grouped(one.tokenizer.n_vocab)} ids"
            numbers = f"{grouped(len(one.ids))} tokens, {one.bytes_per_token:.2f} bytes per token"
            write_text(("\n" if index else "") + f"{name}  {about}: {numbers}\n")
        if ids or show_bytes:
            body = token_view.grid([_column(one, at, ids, show_bytes) for at in range(len(one.ids))], width)
        else:
            body = token_view.draw(one.tokens, colour=has_colour(sys.stdout)).rstrip("\n")
        write_text("".join(f"  {line}".rstrip() + "\n" if not line else f"  {line}\n" for line in body.split("\n")))
    if len(found) > 1 and not quiet:
        write_text("\n" + _compare(found, size, width))


def _column(found: Segmentation, at: int, ids: bool, show_bytes: bool) -> list[str]:
    column = [escape_token(found.tokens[at])]
    column += [str(found.ids[at])] if ids else []
    column += [found.tokens[at].hex(" ")] if show_bytes else []
    return column


def _compare(found: Sequence[Segmentation], size: int, width: int) -> str:
    """A bar of the number of tokens for each tokenizer."""
    from rich.cells import cell_len, set_cell_size

    most = max(len(one.ids) for one in found) or 1
    name_width = max(cell_len(one.name) for one in found)
    number_width = max(len(grouped(len(one.ids))) for one in found)
    bar_width = max(10, min(MAX_BAR_COLUMNS, width - name_width - number_width - 12))
    lines = [f"tokens for the same {grouped(size)} bytes\n"]
    for one in found:
        bar = "█" * max(1, round(len(one.ids) * bar_width / most)) if one.ids else ""
        lines.append(f"  {set_cell_size(one.name, name_width)}  {grouped(len(one.ids)):>{number_width}}  {bar}\n")
    return "".join(lines)
