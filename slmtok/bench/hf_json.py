"""A vocabulary as a Hugging Face `tokenizer.json`, for peers that read nothing else. No export: nothing is verified.

Ranks become pairs through the encoder, which knows what each token was merged from. The GPT-2 pattern is written as the
`ByteLevel` step that everybody recognises, any other as a `Split` with its regex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slmtok.gpt2_alphabet import byte_of_character

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer


def tokenizer_json(tokenizer: Tokenizer, shift: int) -> dict[str, Any]:
    """The document. `shift` is taken off each id."""
    character = {byte: char for char, byte in byte_of_character().items()}
    names = {id: "".join(map(character.__getitem__, token)) for id, token in tokenizer.vocabulary.items()}
    parts = map(tokenizer._encoder.parts, sorted(names))
    merges = [[names[pair[0]], names[pair[1]]] for pair in parts if pair is not None]
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": {name: id - shift for id, name in names.items()},
        "merges": merges,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": splitter(tokenizer.pattern.name, tokenizer.pattern.regex),
        "post_processor": None,
        "decoder": _byte_level(use_regex=True),
        "model": model,
    }


def splitter(name: str | None, regex: str) -> dict[str, Any]:
    """The `pre_tokenizer` for a pattern."""
    if name == "gpt2":
        return _byte_level(use_regex=True)
    # To that library's regex engine `{1,3}+` repeats a repetition, where others have a possessive one; nothing follows,
    # so the plain one matches the same.
    pattern = {"Regex": regex.replace("}+", "}")}
    split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, _byte_level(use_regex=False)]}


def _byte_level(*, use_regex: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}
