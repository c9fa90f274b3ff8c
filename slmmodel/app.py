"""`load`: a trained model for use in Python, text in and text out. An application of slmtok and slmmodel."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slmmodel.errors import MissingInput

if TYPE_CHECKING:
    from slmmodel.cli.text import Text
    from slmmodel.run import Run
    from slmtok import Tokenizer


@dataclass(frozen=True)
class TextRun:
    """A run with its tokenizer."""

    run: Run
    """The same model, for ids."""
    text: Text

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the run."""
        return self.text.tokenizer

    def generate(self, prompt: str = "", *, max_new_tokens: int = 256, **options: Any) -> str:
        """New text after a prompt. `options` as in `Run.generate`; bytes that are not UTF-8 are replaced."""
        from slmmodel.run import opening_ids

        ids = opening_ids(self.run.vocab) + (self.text.encode(prompt) if prompt else [])
        new = self.run.generate(ids, max_new_tokens=max_new_tokens, **options)
        return self.text.data(new).decode("utf-8", "replace")

    def score(self, text: str) -> float:
        """Bits per byte of a text that fits into the model's seq_len, after the special that opens a document.

        Raises `InvalidInput` for a longer or an empty text.
        """
        from slmmodel.run import opening_ids

        nats = self.run.score(opening_ids(self.run.vocab) + self.text.encode(text))
        return float(nats.sum() / math.log(2) / len(text.encode()))


def load(
    path: str | os.PathLike[str],
    *,
    tokenizer: str | os.PathLike[str] | None = None,
    step: int | None = None,
    device: str = "auto",
) -> TextRun:
    """Opens a run with its tokenizer; `tokenizer` names a file instead of that of the run.

    Raises what `slmmodel.load` and `slmtok.load` raise, `MissingInput` without a tokenizer, `Mismatch` for another one.
    """
    from slmmodel.cli.text import Text
    from slmmodel.run import load as load_run

    run = load_run(path, step=step, device=device)
    file = tokenizer or run.folder.tokenizer
    if file is None:
        raise MissingInput(
            "the run has no tokenizer", where=os.fspath(path), fix="tokenizer='tok.json', or slmmodel.load for ids"
        )
    return TextRun(run, Text(file, run.vocab))
