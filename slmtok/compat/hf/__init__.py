"""Hugging Face's calling convention on our engine: what `as_hf(tok)` gives, for training and evaluation scripts.

Names, defaults and results are those of `transformers`' `PreTrainedTokenizerFast` over the `tokenizer.json` that
`slmtok export --output-format hf` writes, to which a test holds them. Neither library is needed. On purpose it differs in these:
nothing can be switched on and remembered (padding, truncation and what else a call needs are its arguments); text that
spells a special is text; ids that no vocabulary has are an error; errors are classes of `slmtok.errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slmtok.compat.hf.encoded import Encoded
from slmtok.compat.hf.facade import HFTokenizer
from slmtok.compat.hf.plan import UNLIMITED
from slmtok.compat.hf.settings import Settings

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

__all__ = ["Encoded", "HFTokenizer", "from_tokenizer"]


def from_tokenizer(tokenizer: Tokenizer, *, model_max_length: int | None = None, **settings: object) -> HFTokenizer:
    """What `tok.as_hf` calls. Raises `InvalidOption`, `UnknownSpecial`."""
    limit = UNLIMITED if model_max_length is None else model_max_length
    return HFTokenizer(tokenizer, Settings(model_max_length=limit, **settings))  # type: ignore[arg-type]  # as_hf's own
