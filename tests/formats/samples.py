"""Tokenizers for tests of the file format: small, generated, one for each form of the file."""

from __future__ import annotations

from slmtok import Tokenizer
from slmtok._engine import UNICODE_VERSION, Pattern
from slmtok.schemes import SCHEMES
from slmtok.specials import Specials, SpecialToken, default_specials
from slmtok.vocabulary import Merge, PatternSpec, Vocabulary

TEXT = ("the cat sat on the mat and the rat ran to the hat; " * 40 + "naïve 今天天气 <sep> 12 345\n") * 3


def spec(pattern: str) -> PatternSpec:
    compiled = Pattern(pattern)
    return PatternSpec(compiled.name, compiled.regex, UNICODE_VERSION)


def bpe(*merges: Merge) -> Tokenizer:
    return Tokenizer(Vocabulary("bpe", spec("slm"), default_specials(), merges=merges))


def char(byte: str) -> int:
    return 16 + ord(byte)


def samples() -> dict[str, Tokenizer]:
    t, h, e, a, n = (char(letter) for letter in "thean")
    foreign: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    foreign += [b"th", None, b"the", b" t"]
    specials = Specials([SpecialToken(257, "eos", "<|endoftext|>"), SpecialToken(263, "fim", "<|fim|>")])
    return {
        "bpe": bpe((t, h), (272, e), (a, n), (char(" "), 273)),
        "bpe-empty": bpe(),
        "hf-reuse": bpe((t, h), (a, t, 4), (4, e), (272, e)),
        "word": Tokenizer(
            Vocabulary("word", spec(SCHEMES["word"].pattern), default_specials(), tokens=(b"the", b"cat", b"  "))
        ),
        "char": Tokenizer(
            Vocabulary("char", spec(SCHEMES["char"].pattern), default_specials(), tokens=("今".encode(), "ï".encode()))
        ),
        "byte": Tokenizer(Vocabulary("byte", spec("slm"), default_specials())),
        "foreign": Tokenizer(Vocabulary("bpe", spec("cl100k"), specials, tokens=tuple(foreign), layout="foreign")),
        "named": bpe((t, h)).with_special("user", "<|user|>").with_special("bos", "<|bos|>"),
        "custom": Tokenizer(Vocabulary("bpe", spec("[a-z]+|[0-9]+"), default_specials(), merges=((t, h),))),
    }
