"""A run as the commands use it: its model on a device, its vocabulary, its tokenizer at the seam."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from slmmodel.errors import InvalidOption, MissingInput
from slmmodel.hardware import device_for

if TYPE_CHECKING:
    from slmmodel.checkpoint import RunFolder
    from slmmodel.cli.text import Text
    from slmmodel.models.protocol import Model
    from slmmodel.vocab import VocabMeta


@dataclass(frozen=True)
class Opened:
    """What `open_run` found."""

    bundle: RunFolder
    model: Model
    vocab: VocabMeta
    text: Text | None
    """None where the run has no tokenizer file and none was named, or where slmtok is not installed"""
    tokenizer: Path | str | None = None

    def need_text(self, option: str) -> Text:
        """The tokenizer; `option` is what wants it. Raises `MissingInput` or `MissingPackage` where there is none."""
        if self.text is None and self.tokenizer is not None:
            from slmmodel.cli.text import Text

            return Text(self.tokenizer, self.vocab)
        if self.text is None:
            raise MissingInput(
                f"{option} needs the tokenizer, and the run has none",
                where=str(self.bundle.path),
                fix="-t tok.json, or give ids with --ids",
            )
        return self.text


def open_run(
    path: str, *, tokenizer: str | None = None, device: str = "auto", step: int | None = None, threads: int = 0
) -> Opened:
    """Opens a run. Raises what `RunFolder` and `Text` raise; `InvalidOption` for a device that is not there."""
    from slmmodel.checkpoint import RunFolder

    if threads:
        import torch

        torch.set_num_threads(threads)
    bundle = RunFolder.open(path)
    vocab = bundle.vocab
    model = bundle.model(str(device_for(device)), step=step)
    file = tokenizer if tokenizer is not None else bundle.tokenizer
    if file is None or (tokenizer is None and find_spec("slmtok") is None):
        return Opened(bundle, model, vocab, None, file)
    from slmmodel.cli.text import Text

    return Opened(bundle, model, vocab, Text(file, vocab), file)


def prompt_ids(opened: Opened, text: str | None, ids: str | None) -> list[int]:
    """The ids of a prompt, given as text or as numbers; the opening id stands in front of text.

    Raises `InvalidOption` for both, or for what is no list of numbers.
    """
    if text is not None and ids is not None:
        raise InvalidOption("--prompt and --ids were given", fix="give one of them", option="--ids")
    if ids is not None:
        words = ids.replace(",", " ").split()
        if not all(word.isascii() and word.isdigit() for word in words):
            raise InvalidOption(f"--ids takes whole numbers, not {ids!r}", fix="--ids '1 340 27'", option="--ids")
        return [int(word) for word in words]
    specials = opened.vocab.specials
    opening = [specials[role] for role in ("bos", "eos") if role in specials][:1]
    return opening + (opened.need_text("--prompt").encode(text) if text else [])


def never_generated(vocab: VocabMeta) -> tuple[int, ...]:
    """Ids that stand for no text, the closing one excepted: they are not picked."""
    closing = closing_ids(vocab)
    return tuple(id for id in range(vocab.n_vocab) if vocab.token_nbytes[id] == 0 and id not in closing)


def closing_ids(vocab: VocabMeta) -> tuple[int, ...]:
    """The id that ends a document: the role eos, or bos where that is the only delimiter."""
    return tuple(vocab.specials[role] for role in ("eos", "bos") if role in vocab.specials)[:1]
