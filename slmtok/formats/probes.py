"""The texts on which another library must give our ids: golden vectors, every token, every code point, fuzz, real text.

All are functions of the tokenizer and of fixed seeds, in batches, so that what a receipt says can be repeated. Other
libraries take text, not bytes: what is no UTF-8 cannot be compared.
"""

from __future__ import annotations

import os
import random
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slmtok.tokenizer_file import GOLDEN_TEXTS

if TYPE_CHECKING:
    from slmtok.corpus import ReadOptions
    from slmtok.tokenizer import Tokenizer

BATCH = 1 << 19
"""Characters of a batch, about: a document is never cut."""
_BLOCK = 256
_ALPHABET = (
    "abzABZéÉßŐűΩжЖ 0159٣½ \t\n\r\x0b\u00a0\u2003\u3000'’\".,;:!?()[]{}<>|/\\-_=+*#@&%$^~`"
    "今日は한국어ไทยनमस्तेאבשלוםمرحبا\u0301\u0903\u200d\ufe0f👩🇭✊🏽\u00ad\ufeff\x00\x7f\ue000\U000e0001\U0010ffff"
)
_RUNS = ("a", "A", "1", " ", "\n", "\r\n", "\t", "=", "-", "今", "é", "\u0301", "👩", "'s", "ab", " a", "\u3000")


@dataclass(frozen=True)
class Effort:
    """How much is compared. text_bytes: generated text where no other is named. code_points: every how many-th one."""

    text_bytes: int = 10_000_000
    fuzz: int = 20_000
    code_points: int = 1


FULL = Effort()


@dataclass(frozen=True)
class Probe:
    """A name, and batches of texts."""

    name: str
    batches: Iterable[list[str]]


def probes(
    tokenizer: Tokenizer, on: Sequence[str | os.PathLike[str]], read: ReadOptions | None, effort: Effort
) -> Iterator[Probe]:
    """All probes, cheap ones first, so that what differs is found soon.

    Raises `MissingInput` at once where `on` names what is not there.
    """
    from slmtok.corpus import ReadOptions, find

    options = ReadOptions() if read is None else read
    sources = find(list(on), options) if on else []
    return _probes(tokenizer, sources, options, effort)


def _probes(tokenizer: Tokenizer, sources: Sequence[str], options: ReadOptions, effort: Effort) -> Iterator[Probe]:
    yield Probe("golden", [golden(tokenizer)])
    yield Probe("tokens", batched(tokens(tokenizer)))
    yield Probe("fuzz", batched(fuzz(tokenizer, effort.fuzz)))
    yield Probe("code_points", batched(code_points(effort.code_points)))
    yield Probe("text", batched(documents(sources, options) if sources else stories(effort.text_bytes)))


def batched(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts in lists of about `BATCH` characters."""
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text) + 1
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def golden(tokenizer: Tokenizer) -> list[str]:
    """The golden vectors that are text, and the spelling of each special."""
    texts = [text.decode() for text in GOLDEN_TEXTS if _is_text(text)]
    spellings = list(tokenizer.specials.spellings)
    return [*texts, *spellings, "a ".join(spellings)]


def tokens(tokenizer: Tokenizer) -> Iterator[str]:
    """Every token that is text, alone; then all in a random order, a few together."""
    found = [token.decode() for _, token in tokenizer.vocabulary.items() if _is_text(token)]
    yield from found
    random.Random(1).shuffle(found)
    for start in range(0, len(found), 7):
        yield "".join(found[start : start + 7])


def fuzz(tokenizer: Tokenizer, n: int) -> Iterator[str]:
    """Random strings of characters, of characters near in Unicode, of tokens; then long runs."""
    rng = random.Random(2)
    pieces = [token.decode("utf-8", "replace") for _, token in tokenizer.vocabulary.items()]
    for index in range(n):
        length = rng.randrange(1, 40)
        if index % 3 == 0:
            yield "".join(rng.choices(_ALPHABET, k=length))
        elif index % 3 == 1:
            yield "".join(rng.choices(pieces, k=length // 3 + 1))
        else:
            yield "".join(_near(rng.choice(_ALPHABET), rng) for _ in range(length))
    for run in _RUNS:
        for length in (2, 3, 15, 64, 1000):
            yield run * length
            yield f"x{run * length}y {run * length}"


def _near(character: str, rng: random.Random) -> str:
    code = ord(character) + rng.randrange(-40, 40)
    return chr(code) if 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000 else character


def code_points(step: int = 1) -> Iterator[str]:
    """Every code point: assigned ones in seven places beside letters, digits, marks and themselves, others in a row."""
    assigned: list[str] = []
    others: list[str] = []
    for code in range(0, sys.maxunicode + 1, step):
        if 0xD800 <= code < 0xE000:
            continue
        character = chr(code)
        if unicodedata.category(character) in ("Cn", "Co"):
            others.append(character)
        else:
            assigned.append(f"a{character}1{character}{character} {character}'{character}.{character}\n{character}")
        for found in (assigned, others):
            if len(found) == _BLOCK:
                yield "".join(found)
                found.clear()
    yield "".join(assigned)
    yield "".join(others)


def stories(n_bytes: int) -> Iterator[str]:
    """Generated stories of about so many bytes."""
    from slmtok.stories import story

    done = index = 0
    while done < n_bytes:
        text = story(index)
        yield text
        done += len(text)
        index += 1


def documents(sources: Sequence[str], options: ReadOptions) -> Iterator[str]:
    """The documents of files; bytes that are no UTF-8 are replaced, for both sides alike."""
    from slmtok.corpus import read

    for document in read(sources, options):
        yield bytes(document.text).decode("utf-8", "replace")


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
