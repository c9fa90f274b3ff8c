"""`Run`: a trained model for use in Python, ids in and ids out. `slmmodel.app` is the same with text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from slmmodel.checkpoint import RunFolder
from slmmodel.data.opening import open_source
from slmmodel.evaluation.scoring import Scores, negative_log_likelihood, score
from slmmodel.generation import generate
from slmmodel.hardware import device_for
from slmmodel.sampling import SamplingOptions
from slmmodel.sampling.prefill import check_prompts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slmmodel.models.protocol import Model
    from slmmodel.vocab import VocabMeta


def opening_ids(vocab: VocabMeta) -> list[int]:
    """The special that opens a document, as ids: the role bos, or eos where that is the only delimiter."""
    return [vocab.specials[role] for role in ("bos", "eos") if role in vocab.specials][:1]


def special_ids(vocab: VocabMeta) -> dict[str, Any]:
    """Options of sampling: `stop_ids`, the id that ends a document, and `banned`, all other ids without text.

    The end is the role eos, or bos where that is the only delimiter.
    """
    closing = tuple(vocab.specials[role] for role in ("eos", "bos") if role in vocab.specials)[:1]
    without_text = (vocab.token_nbytes == 0).nonzero()[0].tolist()
    return {"stop_ids": closing, "banned": tuple(id for id in without_text if id not in closing)}


class Run:
    """A run folder with its model in evaluation mode. `load` opens one."""

    def __init__(self, folder: RunFolder, model: Model) -> None:
        self.folder, self.model = folder, model
        self.config: dict[str, Any] = folder.config
        """The resolved configuration: sections `model`, `data`, `optim`, `run`."""
        self.vocab: VocabMeta = folder.vocab
        """What the ids stand for: bytes of each id, special ids by role."""

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

    def __repr__(self) -> str:
        model, state = self.config["model"], "finished" if self.folder.finished else "not finished"
        return f"Run({os.fspath(self.path)!r}, {model['arch']}, n_vocab={model['n_vocab']}, {state})"

    def generate(
        self, ids: Sequence[int] = (), *, max_new_tokens: int = 256, overflow: str = "stop", **options: Any
    ) -> list[int]:
        """New ids after a prompt; an empty one is the special that opens a document.

        options: fields of `SamplingOptions` (temperature=0.8, top_p=0.9, seed=1), by default with `special_ids`. Equal
        arguments give equal ids.

        Raises `InvalidInput` for ids outside the vocabulary, `OptionError`.
        """
        prompt = [int(id) for id in ids] or opening_ids(self.vocab)
        chosen = SamplingOptions(**{**special_ids(self.vocab), **options})
        limits: dict[str, Any] = {"max_new_tokens": max_new_tokens, "overflow": overflow}
        return generate(self.model, [prompt], chosen, **limits)[0].ids

    def score(self, ids: Sequence[int]) -> NDArray[np.float64]:
        """Nats of each id after the first, shape [len(ids) - 1], float64. Longer sequences than seq_len are refused.

        Raises `InvalidInput`.
        """
        row = [int(id) for id in ids]
        check_prompts(self.model, [row])
        tensor = torch.tensor([row], device=next(self.model.parameters()).device)
        with torch.inference_mode():
            logits = self.model(tensor[:, :-1]).logits
            assert logits is not None
            nats = negative_log_likelihood(logits, tensor[:, 1:])
        found: NDArray[np.float64] = nats[0].cpu().numpy()
        return found

    def evaluate(self, data: str | os.PathLike[str] | None = None, split: str = "val", **scoring: Any) -> Scores:
        """Scores every byte of a split: `.bpb_total`, `.bpb_content`, bits of each document.

        data: packed data; by default those of training. scoring: `seq_len`, `stride`, `stateful` and the other options
        of `slmmodel.evaluation.score`. Raises what opening and scoring raise.
        """
        source = open_source(os.fspath(data or self.config["data"]["train"]), split, vocab=self.vocab)
        return score(self.model, source, self.vocab, **{"seq_len": self.config["model"]["seq_len"], **scoring})


def load(path: str | os.PathLike[str], *, step: int | None = None, device: str = "auto") -> Run:
    """Opens a run; `step` takes a checkpoint instead of the final weights.

    Raises `MissingInput`, `CorruptFile`, `UnsupportedFormat`, `Mismatch`, `OptionError` for a device that is missing.
    """
    folder = RunFolder.open(path)
    return Run(folder, folder.model(str(device_for(device)), step=step))
