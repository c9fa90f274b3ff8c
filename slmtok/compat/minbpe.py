"""minbpe's `BasicTokenizer` and `RegexTokenizer` on our engine.

As in minbpe: ids start at 0 with the bytes, special tokens are registered with ids of their own, training takes one
text and a `vocab_size` without special tokens, and `encode` raises on special tokens in the text by default. Intended
differences: ties go to the pair with the smaller ids (there: to the first seen), text that the pattern does not match
is kept, a text with too few pairs gives fewer merges, and `.model` is our own JSON, which stores the pattern.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence

from slmtok.checks import U32, U64, check_int
from slmtok.compat._shared import (
    check_spelling,
    check_str,
    check_vocab_size,
    explain_adapter,
    learn_merges,
    model_content,
    raw_encoder,
    training_text,
    unknown_id,
    with_ids,
)  # fmt: skip
from slmtok.compat.tiktoken._checks import Allowed, Rules
from slmtok.errors import CorruptFile, InvalidSpecials, SlmtokError, WrongType

__all__ = ["GPT4_SPLIT_PATTERN", "BasicTokenizer", "RegexTokenizer"]

GPT4_SPLIT_PATTERN = "cl100k-hf"
"""The default pattern of `RegexTokenizer`, by our name."""
_FORMAT = "slmtok-minbpe"


class RegexTokenizer:
    """Splits text by a pattern, trains on one text, has special tokens."""

    def __init__(self, pattern: str | None = None) -> None:
        """pattern: the name of one of our patterns or a regex; GPT-4's if None. Raises `InvalidPattern`."""
        from slmtok.patterns import parse_pattern

        self._pattern = parse_pattern(pattern if pattern is not None else GPT4_SPLIT_PATTERN)
        self.special_tokens: dict[str, int] = {}
        self._set_merges([])

    def _set_merges(self, merges: Sequence[tuple[int, int]]) -> None:
        self.merges = {pair: 256 + k for k, pair in enumerate(merges)}
        self._encoder = raw_encoder(self._pattern, merges)

    @property
    def pattern(self) -> str:
        """The regex of the split pattern."""
        return self._pattern.regex

    @property
    def vocab(self) -> dict[int, bytes]:
        """The bytes of each id, special tokens last."""
        table = {id: self._encoder.token_bytes(id) for id in range(256 + len(self.merges))}
        return table | {id: text.encode() for text, id in self.special_tokens.items()}

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        """Learns `vocab_size` - 256 merges of one text. verbose: log each merge. Raises `VocabularyTooSmall`."""
        self._set_merges(learn_merges([training_text(text, vocab_size)], check_vocab_size(vocab_size), self._pattern))
        if verbose:
            log = logging.getLogger(__name__)
            for k, (pair, id) in enumerate(self.merges.items(), 1):
                log.info("merge %d/%d: %s -> %d (%r)", k, len(self.merges), pair, id, self._encoder.token_bytes(id))

    def register_special_tokens(self, special_tokens: Mapping[str, int]) -> None:
        """Sets spelling -> id, replacing earlier ones. Raises `InvalidSpecials`."""
        first = 256 + len(self.merges)
        if not isinstance(special_tokens, Mapping):
            fact = f"special_tokens must be a dict, not {type(special_tokens).__name__}"
            raise WrongType(fact, fix=with_ids(special_tokens, first))
        texts = map(check_spelling, special_tokens)
        tokens = {text: check_int(f"the id of {text!r}", special_tokens[text], -U64, U32) for text in texts}
        if len(set(tokens.values())) != len(tokens):
            raise InvalidSpecials(f"two special tokens share an id: {tokens}", fix=with_ids([*tokens], first))
        for text, id in tokens.items():
            if not check_spelling(text) or id < first:
                fact = f"special token {text!r} cannot have id {id}"
                limit = f"a spelling, and an id of {first} or more (bytes and merges are below)"
                raise InvalidSpecials(fact, limit=limit, fix=with_ids([*tokens], first), id=id)
        self.special_tokens = tokens

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text, special tokens treated as text."""
        return self._encoder.encode_list(check_str(text))

    def encode(self, text: str, allowed_special: Allowed = "none_raise") -> list[int]:
        """The ids of a text.

        allowed_special: "all", "none" (all are text), "none_raise" (one in the text raises `SpecialInText`), or a set
        of spellings (all others are text).
        """
        rules = Rules.of(self.special_tokens, allowed_special, ())
        rules.check(check_str(text), roles={})
        return rules.encode(text, self.special_tokens, self._encoder.encode_list)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, invalid UTF-8 replaced. Raises `UnknownId`."""
        from slmtok.id_arrays import check_ids, check_row

        spelled, n_ids = {id: text.encode() for text, id in self.special_tokens.items()}, 256 + len(self.merges)
        parts = []
        for id in check_ids(check_row(ids), n_ids):
            if id >= n_ids and id not in spelled:
                raise unknown_id(id, n_ids)
            parts.append(spelled.get(id) or self._encoder.token_bytes(id))
        return b"".join(parts).decode("utf-8", "replace")

    def save(self, file_prefix: str) -> None:
        """Writes `file_prefix`.model for `load` and the readable `file_prefix`.vocab, replacing existing files."""
        from slmtok import atomic
        from slmtok.compat._shared import printable

        pattern = self._pattern.name or self._pattern.regex
        content = {"format": _FORMAT, "version": 1, "pattern": pattern, "specials": self.special_tokens}
        text = json.dumps({**content, "merges": list(self.merges)}, ensure_ascii=False)
        atomic.write(f"{file_prefix}.model", text.encode() + b"\n", force=True)
        names = {id: printable(token) for id, token in self.vocab.items()}
        parts = {id: f"[{names[left]}][{names[right]}] -> " for (left, right), id in self.merges.items()}
        lines = [f"{parts.get(id, '')}[{name}] {id}\n" for id, name in names.items()]
        atomic.write(f"{file_prefix}.vocab", "".join(lines).encode(), force=True)

    def load(self, model_file: str) -> None:
        """Reads a file that `save` wrote, pattern included. Raises `MissingInput`, `CorruptFile`."""
        from slmtok._engine import Pattern

        content, path = model_content(model_file, _FORMAT), str(model_file)
        try:
            self._pattern = Pattern(content["pattern"])
            self._set_merges([(left, right) for left, right in content["merges"]])
            self.register_special_tokens(content["specials"])
        except (SlmtokError, KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise CorruptFile(f"{path!r} is damaged: {error}", where=path, fix="save it again", path=path) from error


class BasicTokenizer(RegexTokenizer):
    """Without a split pattern: the text is one piece, and merges cross words."""

    def __init__(self) -> None:
        super().__init__("whole")


explain_adapter(globals())
