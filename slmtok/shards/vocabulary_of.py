"""`vocab.json` of a packed folder: the tokenizer's own, with the roles that a model needs and a foreign table lacks.

Our layout has all of them. To a foreign table (GPT-2's, say) `bos`, `eos` and `pad` are appended after its last id, so
that its own ids stay as they are and documents can be framed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

NEEDED = ("bos", "eos", "pad")


def vocabulary_metadata(tokenizer: Tokenizer) -> dict[str, object]:
    """The content of `vocab.json`. The fingerprint is the tokenizer's, whether roles were appended or not."""
    content = tokenizer.metadata()
    specials = dict(cast("dict[str, int]", content["specials"]))
    lengths = list(cast("list[int]", content["byte_lengths"]))
    for role in NEEDED:
        if role not in specials:
            specials[role] = len(lengths)
            lengths.append(0)
    n_vocab = len(lengths)
    return {
        **content,
        "n_vocab": n_vocab,
        "padded_vocab": -(-n_vocab // 64) * 64,
        "specials": specials,
        "byte_lengths": lengths,
    }


def special_id(content: dict[str, Any], role: str) -> int:
    """The id of a role in the content of a `vocab.json`."""
    return int(content["specials"][role])
