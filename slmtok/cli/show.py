"""`slmtok show`: the token boundaries of a text; for several tokenizers, or for the four schemes, side by side."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise, takewhile
from operator import itemgetter
from typing import TYPE_CHECKING

from slmtok.analysis.token_classes import text_of
from slmtok.cli.arguments import is_packed
from slmtok.cli.files import STDIO, names_tokenizer
from slmtok.cli.options import TOKENIZER, argument, arguments_of_command, command, option
from slmtok.cli.output import Outcome, has_colour, settings, styled, write_text
from slmtok.cli.text_argument import notes_on_text, read_text, split_arguments, text_last
from slmtok.errors import OptionError
from slmtok.files import free_name
from slmtok.opening import load
from slmtok.token_text import SPACE, escape_token

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

DEFAULT_TEXT = (
    "Once upon a time there was a little fox who didn't like the rain 🦊.\n"
    "She said: “2026 was warm, wasn't it? Café naïve, 今天天气很好!”\n"
)
MAX_TEXT_BYTES = 64 << 20
SCHEME_VOCAB_SIZE = 2048
SCHEME_STORIES = 1000
"""Ids of each scheme, and stories that it is trained on, when no tokenizer is given."""
MAX_BAR_COLUMNS = 60
BOUNDARY, OPEN, CLOSE = "│", "⟨", "⟩"
_ESCAPED_MARKS = {mark: f"\\u{ord(mark):04x}" for mark in (BOUNDARY, OPEN, CLOSE)}
_BACKGROUNDS = ("\x1b[30;48;5;223m", "\x1b[30;48;5;152m", "\x1b[30;48;5;182m", "\x1b[30;48;5;151m")
_RESET = "\x1b[0m"
_NO_TOKEN = -1
_IDS = re.compile(r"\d+(?:[\s,]+\d+)*,?", re.ASCII)


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
        bounds = pairwise(accumulate(map(len, self.tokens), initial=0))
        pieces = [
            {"id": id, "text": text_of(token), "hex": token.hex(), "start": start, "stop": stop}
            for id, token, (start, stop) in zip(self.ids, self.tokens, bounds, strict=True)
        ]
        return {
            "name": self.name,
            "scheme": self.tokenizer.scheme,
            "n_vocab": self.tokenizer.n_vocab,
            "fingerprint": self.tokenizer.fingerprint,
            "tokens": len(self.ids),
            "bytes_per_token": round(self.bytes_per_token, 6),
            "pieces": pieces,
        }


def _packed_documents(_: str | None, arguments: Sequence[str]) -> str:
    """The command that shows packed documents, whose text decode writes."""
    # As two words each; a number of a document may be negative.
    given = [part for word in arguments for part in (word.split("=", 1) if word.startswith(_OF_DATA) else [word])]
    values = {flag: value for flag, value in pairwise(given) if flag in _OF_DATA and not value.startswith("--")}
    words = [word for before, word in pairwise(["", *given]) if word not in _OF_DATA and before not in values]
    part = [word for option in ({"--docs": "0:1"} | values).items() for word in option]
    read = ["slmtok", "decode", next(filter(is_packed, words), "DATA"), *part, "--skip-special"]
    return f"{shlex.join(read)} | {shlex.join(['slmtok', 'show', *words, STDIO])}"


_OF_DATA = ("--docs", "--split")
"""Options of decode for the documents of packed data that it reads."""


def _as_page(value: str | None, arguments: Sequence[str]) -> str:
    """The command that writes a page of the tokens."""
    is_page = value is not None and value.endswith(".html")
    words = [word for word in arguments if word not in ("--ids", "--bytes", "--html", *[value] * is_page)]
    words = [word for word in words if not word.startswith("--html=")]
    tokenizer = [] if any(map(names_tokenizer, words)) else ["tok.json"]
    output = value if is_page else free_name("tokens.html")
    return shlex.join(["slmtok", "view", *tokenizer, *words, "-o", str(output)])


_HABITS = {**text_last("slmtok show"), **dict.fromkeys(_OF_DATA, _packed_documents), "--html": _as_page}


@command("show", habits=_HABITS, example='slmtok show tok.json "Once upon a time"')
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
    numbers = _numbers_behind_ids() if ids else []
    if len(numbers) > 1:
        raise OptionError(
            f"--ids takes no value, and {' '.join(numbers)} behind it are numbers",
            limit="show takes a text; decode takes ids",
            fix=_decoding_line(numbers, [*more, *items]),
            option="--ids",
        )
    names, text = split_arguments(items, more)
    data = read_text(text, DEFAULT_TEXT, MAX_TEXT_BYTES)
    if len(data) > MAX_TEXT_BYTES:
        raise OptionError(
            f"the text has more than {MAX_TEXT_BYTES:,} bytes",
            limit="what one can look at",
            fix="show a part of it, with head -c 2000 for instance; slmtok eval measures tokenizers on all of it",
            option="text",
        )
    found = [Segmentation.of(name, load(name), data) for name in names] if names else _schemes(data)
    return Outcome(
        {"bytes": len(data), "tokenizers": [one.to_dict() for one in found]},
        lambda: _print(found, len(data), ids=ids, show_bytes=show_bytes),
        warnings=_note_on_numbers(text, numbers, names) or notes_on_text(text),
    )


def _numbers_behind_ids() -> list[str]:
    """The words behind `--ids` that may be ids of tokens."""
    words = arguments_of_command()
    return [*takewhile(_IDS.fullmatch, words[words.index("--ids") + 1 :])] if "--ids" in words else []


def _note_on_numbers(text: str | None, numbers: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """A warning about numbers behind `--ids`, which were taken as the text."""
    if text is None or [text] != [*numbers]:
        return ()
    return (f"{text!r} was taken as the text; as ids: {_decoding_line(numbers, names)}",)


def _decoding_line(numbers: Sequence[str], names: Iterable[str]) -> str:
    """The command that shows the text of ids, with the first of these names that is a tokenizer."""
    ids = " ".join(" ".join(numbers).replace(",", " ").split())
    tokenizer = next(filter(names_tokenizer, names), "TOK")
    return f"echo {ids} | {shlex.join(['slmtok', 'decode', STDIO, '-t', tokenizer])}"


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
            about = f"{one.tokenizer.scheme}, {one.tokenizer.n_vocab:,} ids"
            numbers = f"{len(one.ids):,} tokens, {one.bytes_per_token:.2f} bytes per token"
            write_text(("\n" if index else "") + f"{name}  {about}: {numbers}\n")
        if ids or show_bytes:
            cells = zip(one.ids, one.tokens, strict=True)
            columns = [[escape_token(t), *[str(id)] * ids, *[t.hex(" ")] * show_bytes] for id, t in cells]
            body = grid(columns, width)
        else:
            body = draw(one.tokens, colour=has_colour(sys.stdout)).rstrip("\n")
        write_text("".join(f"  {line}".rstrip() + "\n" if not line else f"  {line}\n" for line in body.split("\n")))
    if len(found) > 1 and not quiet:
        write_text("\n" + _compare(found, size, width))


def _compare(found: Sequence[Segmentation], size: int, width: int) -> str:
    """A bar of the number of tokens for each tokenizer."""
    from rich.cells import cell_len, set_cell_size

    most = max(len(one.ids) for one in found) or 1
    name_width = max(cell_len(one.name) for one in found)
    number_width = max(len(f"{len(one.ids):,}") for one in found)
    bar_width = max(10, min(MAX_BAR_COLUMNS, width - name_width - number_width - 12))
    lines = [f"tokens for the same {size:,} bytes\n"]
    for one in found:
        bar = "█" * max(1, round(len(one.ids) * bar_width / most)) if one.ids else ""
        lines.append(f"  {set_cell_size(one.name, name_width)}  {len(one.ids):>{number_width},}  {bar}\n")
    return "".join(lines)


# Drawing a text with its token boundaries: pure functions from tokens to strings.
#
# Without colour a boundary is `│`. With colour, consecutive tokens have different backgrounds and spaces stay spaces. A
# character that a boundary splits is drawn once, followed by its bytes with the boundaries between them: `é⟨c3│a9⟩`. A
# byte that is not UTF-8 is drawn as `⟨ff⟩`. A line feed is shown and then followed by one.


def draw(tokens: Sequence[bytes], *, colour: bool) -> str:
    """The text of these tokens with their boundaries."""
    boundaries = set(list(accumulate(map(len, tokens)))[:-1])
    spans = list(_spans(b"".join(tokens), boundaries, colour=colour))
    if colour:
        texts = ((token, "".join(text for _, text in group)) for token, group in groupby(spans, itemgetter(0)))
        return "".join(
            text if token == _NO_TOKEN else f"{_BACKGROUNDS[token % len(_BACKGROUNDS)]}{text}{_RESET}"
            for token, text in texts
        )
    drawn, current = [], 0
    for token, text in spans:
        if token > current:
            drawn.append(BOUNDARY * (token - current))
            current = token
        drawn.append(text)
    return "".join(drawn)


def _spans(text: bytes, boundaries: set[int], *, colour: bool) -> Iterator[tuple[int, str]]:
    """(number of the token, what is drawn); a line feed after its sign belongs to no token."""
    token = start = 0
    for char in text.decode("utf-8", "surrogateescape"):
        data = char.encode("utf-8", "surrogateescape")
        token += start in boundaries
        inner = [at for at in range(1, len(data)) if start + at in boundaries]
        start += len(data)
        if "\udc80" <= char <= "\udcff":
            yield token, f"{OPEN}{data.hex()}{CLOSE}"
            continue
        word = escape_token(data)
        yield token, (" " if colour and word == SPACE else _ESCAPED_MARKS.get(word, word)) + (OPEN if inner else "")
        if inner:
            for index, (begin, end) in enumerate(pairwise([0, *inner, len(data)])):
                yield token + index, data[begin:end].hex()
            token += len(inner)
            yield token, CLOSE
        if data == b"\n":
            yield _NO_TOKEN, "\n"


def grid(columns: Sequence[Sequence[str]], width: int) -> str:
    """Columns of equal height side by side, wrapped at `width` terminal cells; their rows align."""
    from rich.cells import cell_len, set_cell_size

    sizes = [max(map(cell_len, column)) for column in columns]
    lines: list[str] = []
    start = 0
    while start < len(columns):
        stop, used = start, 0
        while stop < len(columns) and (stop == start or used + sizes[stop] + 2 <= width):
            used += sizes[stop] + 2
            stop += 1
        for row in range(len(columns[start])):
            cells = (set_cell_size(columns[index][row], sizes[index]) for index in range(start, stop))
            lines.append("  ".join(cells).rstrip())
        lines.append("")
        start = stop
    return "\n".join(lines).rstrip("\n")
