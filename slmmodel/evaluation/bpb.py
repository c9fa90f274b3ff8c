"""`score`: what a model pays for every byte of a source, each scored once.

Rows of one forward pass are of like length, and what is missing at their right cannot influence what stands before it,
so no mask is built. Log-softmax takes logits in float32 whatever the model computes in, and adds up in float64, so that
a uniform model costs its entropy to the last digit. Neither the number of rows in a pass nor the packing of the data
has a part in the result beyond the rounding of logits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from slmmodel.data.source import TokenBlock, TokenSource
from slmmodel.data.spans import pair_counts, starts_of
from slmmodel.evaluation.scores import Scores, joined
from slmmodel.evaluation.windows import ScoringWindows, check_stride, scoring_windows
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    import torch

MAX_LOGITS = 1 << 25
"""Numbers in the logits of one pass: 128 MiB as float32."""
MAX_ROWS = 64


def score(
    model: Any,
    source: TokenSource,
    vocab: VocabMeta,
    *,
    context: int,
    stride: int | None = None,
    device: str | torch.device | None = None,
    autocast: torch.dtype | None = None,
    rows: int | None = None,
    carry: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Scores:
    """Scores all documents of a source with windows of `context` pairs, moved by `stride` (default: half of it).

    With `carry` a recurrent model keeps its state through a document, which it reads in parts of `context` pairs: its
    context is then unlimited, and there is no stride. `rows` is the most rows of one pass (default: what fits the
    memory set aside); `progress` hears (targets done, of how many in the block). The model goes back into the mode it
    was in. Raises `BytesDisagree` where the bytes of the scored targets are not those of the documents, `InvalidPlan`
    for a stride that leaves pairs out.
    """
    stride = check_stride(context, stride)
    place = device if device is not None else next(model.parameters()).device
    was_training = model.training
    model.eval()
    try:
        parts = []
        for block in _blocks(source):
            run = _Run(model, block, vocab, str(place), autocast)
            most = rows or _rows(context, vocab)
            parts.append(run.carried(context, most, progress) if carry else run.score(context, stride, most, progress))
    finally:
        model.train(was_training)
    scores = joined(parts)
    scores.check_bytes()
    return scores


def _blocks(source: TokenSource) -> Iterator[TokenBlock]:
    index = 0
    while source.n_blocks is None or index < source.n_blocks:
        try:
            block = source.block(index)
        except IndexError:
            return
        yield block
        index += 1


def _rows(context: int, vocab: VocabMeta) -> int:
    return max(1, min(MAX_ROWS, MAX_LOGITS // (context * vocab.n_vocab)))


class _Run:
    """One block under one model."""

    def __init__(
        self, model: Any, block: TokenBlock, vocab: VocabMeta, device: str, autocast: torch.dtype | None
    ) -> None:
        self.model, self.block, self.vocab, self.device, self.autocast = model, block, vocab, device, autocast
        pairs = pair_counts(block.lengths())
        self.pairs, self.offsets = pairs, starts_of(pairs)
        total = int(self.offsets[-1])
        self.nats = np.zeros(total, dtype=np.float64)
        self.targets = np.zeros(total, dtype=np.uint32)

    def score(self, context: int, stride: int, rows: int, progress: Callable[[int, int], None] | None) -> Scores:
        """All windows, those of like length together."""
        windows = scoring_windows(self.pairs, context, stride)
        by_width = np.argsort(windows.start - windows.stop, kind="stable")
        done = 0
        for first in range(0, len(by_width), rows):
            chosen = ScoringWindows(*(field[by_width[first : first + rows]] for field in windows))
            done += self._pass(chosen)
            if progress is not None:
                progress(done, len(self.nats))
        return self._scores()

    def carried(self, part: int, rows: int, progress: Callable[[int, int], None] | None) -> Scores:
        """Documents of like length side by side, from begin to end, in parts; a state for each group of them."""
        longest_first = np.argsort(-self.pairs, kind="stable")
        longest_first = longest_first[self.pairs[longest_first] > 0]
        done = 0
        for first in range(0, len(longest_first), rows):
            docs = longest_first[first : first + rows]
            state = self.model.init_state(len(docs), self.device)
            for start in range(0, int(self.pairs[docs[0]]), part):
                # A document that has ended goes on as padding, of which nothing is scored.
                begin, stop = np.minimum(start, self.pairs[docs]), np.minimum(start + part, self.pairs[docs])
                done += self._pass(ScoringWindows(docs, begin, begin, stop), state)
                if progress is not None:
                    progress(done, len(self.nats))
        return self._scores()

    def _scores(self) -> Scores:
        nbytes = self.vocab.token_nbytes[self.targets]
        return Scores(self.nats, self.targets, nbytes, self.offsets, self.block.nbytes())

    def _pass(self, windows: ScoringWindows, state: Any = None) -> int:
        """One forward pass; writes nats and targets of what is new and returns how many that were."""
        widths = windows.stop - windows.start
        ids = np.full((len(widths), int(widths.max()) + 1), self.vocab.pad_id, dtype=np.int64)
        for row, (doc, start, stop) in enumerate(
            zip(windows.doc.tolist(), windows.start.tolist(), windows.stop.tolist(), strict=True)
        ):
            ids[row, : stop - start + 1] = self.block.ids(doc, start, stop + 1)
        nats = self._nats(ids, state)
        slots = np.arange(ids.shape[1] - 1)
        new = (slots >= (windows.new - windows.start)[:, None]) & (slots < widths[:, None])
        # Rows and slots in one order, pairs in the same.
        places = (self.offsets[windows.doc] + windows.start)[:, None] + slots
        self.nats[places[new]] = nats[new]
        self.targets[places[new]] = ids[:, 1:][new]
        return int(np.count_nonzero(new))

    def _nats(self, ids: NDArray[np.int64], state: Any) -> NDArray[np.float64]:
        """Negative log-likelihoods of all targets of these rows [B, T + 1], float64 [B, T]."""
        import torch

        tensor = torch.from_numpy(ids).to(self.device)
        mixed = nullcontext() if self.autocast is None else torch.autocast(tensor.device.type, self.autocast)
        with torch.no_grad():
            with mixed:
                logits = self.model(tensor[:, :-1], **({} if state is None else {"state": state})).logits
            nats: NDArray[np.float64] = negative_log_likelihood(logits, tensor[:, 1:]).cpu().numpy()
        return nats


def negative_log_likelihood(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Nats of each target [B, T] under logits [B, T, V]: exponentials in float32, their sum and its log in float64."""
    import torch

    logits = logits.float()
    if logits.device.type == "mps":  # has no float64
        logits, targets = logits.cpu(), targets.cpu()
    top = logits.amax(-1, keepdim=True)
    of_target = (logits.gather(-1, targets.unsqueeze(-1)) - top).squeeze(-1).double()
    total: torch.Tensor = (logits - top).exp_().sum(-1, dtype=torch.float64).log() - of_target
    return total
