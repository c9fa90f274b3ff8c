"""What commands open: a run, with its model and tokenizer, and data by path: packed data, a file of ids, or text.

Only text needs the library slmtok, which is imported for it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.text import Text
from slmmodel.errors import MissingInput, OptionError
from slmmodel.hardware import device_for
from slmtok.cli.progress import Progress

if TYPE_CHECKING:
    from slmmodel.data.opening import RunData
    from slmmodel.data.source import TokenSource
    from slmmodel.models.protocol import Model
    from slmmodel.vocab import VocabMeta


@dataclass(frozen=True)
class RunContext:
    """The result of `open_run`. `text` is None without a tokenizer file."""

    run: RunFolder
    model: Model
    vocab: VocabMeta
    text: Text | None

    def need_text(self, option: str) -> Text:
        """The tokenizer, needed by `option`. Raises `MissingInput` where there is none."""
        if self.text is None:
            raise MissingInput(
                f"{option} needs the tokenizer, and the run has none",
                where=str(self.run.path),
                fix="-t tok.json, or give ids with --ids",
            )
        return self.text


def open_run(
    path: str, *, tokenizer: str | None = None, device: str = "auto", step: int | None = None, threads: int = 0
) -> RunContext:
    """Opens a run. Raises what `RunFolder` and `Text` raise, and `OptionError` for a device that is not available."""
    run = RunFolder.open(path)
    with Progress("loading the model"):
        if threads:
            import torch

            torch.set_num_threads(threads)
        model = run.model(str(device_for(device)), step=step)
    file = tokenizer or run.tokenizer
    return RunContext(run, model, run.vocab, None if file is None else Text(file, run.vocab))


def open_assistant(path: str, context: RunContext, device: str) -> Model:
    """The model of a run that assists another. Raises what `open_run` raises, and `Mismatch` for another tokenizer."""
    assistant = open_run(path, device=device)
    assistant.vocab.require_same(context.vocab, "the assistant", path)
    return assistant.model


def prompt_ids(run: RunContext, text: str | None, ids: str | None) -> list[int]:
    """The ids of a prompt, given as text (`-` is stdin) or as numbers; text is preceded by the opening special.

    Raises `OptionError` for both, and for what is not a list of numbers.
    """
    if text is not None and ids is not None:
        raise OptionError("--prompt and --ids together", fix="give one of them", option="--ids")
    if ids is not None:
        words = ids.replace(",", " ").split()
        if not all(word.isascii() and word.isdigit() for word in words):
            raise OptionError(f"--ids takes integers, not {ids!r}", fix="--ids '1 340 27'", option="--ids")
        return [int(word) for word in words]
    from slmmodel.run import opening_ids

    text = sys.stdin.read() if text == "-" else text
    return opening_ids(run.vocab) + (run.need_text("--prompt").encode(text) if text else [])


def is_text(path: str) -> bool:
    """Whether a path is a corpus: neither a packed folder nor a file of ids."""
    location = Path(path)
    if location.is_dir():
        ids = ["manifest.json", *(f"{split}{suffix}" for split in ("train", "val") for suffix in (".bin", ".npy"))]
        return not any((location / name).is_file() for name in ids)
    return path.startswith("hf:") or (location.is_file() and location.suffix not in (".bin", ".npy"))


def open_any(path: str, split: str, of: RunFolder | RunData) -> TokenSource:
    """A split of ids, or of a corpus with the tokenizer of a run or its data. Raises what opening and reading raise."""
    if of.tokenizer is None or not is_text(path):
        from slmmodel.data.opening import open_source

        return open_source(path, split, vocab=of.vocab)
    from slmmodel.cli.text_source import Corpus, TextSource

    corpus = Corpus(Text(of.tokenizer, of.vocab), [path])
    return TextSource(corpus, of.vocab, split, corpus.split("auto"))


def open_text(path: str, tokenizer: str | Path | None, val: str | None) -> RunData | None:
    """Training data of a corpus with a tokenizer; None without a tokenizer: then `path` is packed data.

    `val` is `auto` (None), `none`, or other packed data or corpora. Raises what reading raises.
    """
    if tokenizer is None:
        return None
    from slmmodel.cli.text_source import text_data

    if val in (None, "auto", "none"):
        return text_data([path], tokenizer, val=val or "auto")
    data = text_data([path], tokenizer, val="none")
    return replace(data, val=open_any(val, "val", data))
