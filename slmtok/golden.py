"""The texts whose ids every tokenizer file records, so that a change of behaviour is caught when it is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slmtok.errors import GoldenMismatch
from slmtok.tokenizer_file import Golden

if TYPE_CHECKING:
    from slmtok._engine import Encoder

GOLDEN_TEXTS: tuple[bytes, ...] = (
    b"",
    b"Hello, world! It's 12:05, isn't it?",
    b"Once upon a time there was a little fox who didn't like the rain.",
    b"  two  spaces\tand tabs \r\n\r\n   then lines\n\n\n  ",
    b"0123456789 3.14159 1,000,000 2026-11-21",
    b"<s>text that spells specials</s><?><><sep><mask><|endoftext|>",
    "naïve café, Ő és Ű; Übergröße; ſ I'LL we\u2019re".encode(),
    "今天天气很好。日本語のテキスト、한국어 문장입니다".encode(),
    "Привет, мир! مرحبا بالعالم नमस्ते दुनिया שלום".encode(),
    "👩\u200d👩\u200d👧 🇭🇺 ✊🏽 e\u0301 a\ufe0f".encode(),
    b"for (int i = 0; i < n; ++i) {\n\t    x[i] = y->z / 0xFF; // HTTPServer camelCase\n}\n",
    b"\x00\xff\xfe bad \xc3( \xe2\x82 \xed\xa0\x80 \xf0\x9f\x98 bytes \x80",
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=================--------________",
)


def make(encoder: Encoder) -> tuple[Golden, ...]:
    """The golden vectors of an encoder."""
    return tuple(Golden(text, tuple(encoder.encode_list(text))) for text in GOLDEN_TEXTS)


def check(encoder: Encoder, golden: Sequence[Golden], source: str) -> None:
    """Raises `GoldenMismatch` for the first vector that gives other ids than recorded."""
    for index, item in enumerate(golden):
        ids = tuple(encoder.encode_list(item.text))
        if ids != item.ids:
            raise GoldenMismatch(
                f"golden vector {index} ({item.text[:24]!r}…) encodes to {list(ids[:6])}…, the file says "
                f"{list(item.ids[:6])}…",
                where=source,
                fix="use the version of slmtok that made the file; verify=False loads it without this check",
                path=source,
                index=index,
            )
