"""`score`: the loss of every target of a source in nats, each scored once, and the bits per byte that follow.

    bpb_content = sum of nats of targets with bytes / (ln 2 * raw bytes)
    bpb_total   = sum of nats of all targets        / (ln 2 * raw bytes)

`bpb_total` includes the id that closes each document: a true code length of the set of documents, and the number to
rank by. It exists only where the bytes of the scored targets equal the raw bytes of every document.

Sequences of one forward pass are of similar length; padding at the end cannot influence earlier positions, so no mask
is built. Log-softmax uses float32 logits and float64 sums, so that a uniform model costs its entropy to the last digit.
Batch size and packing have no effect beyond the rounding of logits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from slmmodel.checks import check_report
from slmmodel.data.packing import Ints, check_range, count_inputs, prefix_sums
from slmmodel.data.source import DocumentBlock, TokenSource, blocks_of
from slmmodel.errors import Argument, BytesDisagree, InvalidConfig, NotFinite, OfCommand, WrongType
from slmmodel.indexing import explains_indexing
from slmmodel.notebook import html_table
from slmmodel.sizes import counted
from slmmodel.vocab import VocabMeta

if TYPE_CHECKING:
    import torch

LN2 = math.log(2)
MAX_BATCH_LOGITS = 1 << 25
"""Logits of one forward pass: 128 MiB as float32."""
MAX_BATCH_SIZE = 64
Progress = Callable[[int, int], None]
"""(targets done, targets of the block)."""


_ELSEWHERE = {
    **dict.fromkeys(
        ("bpb", "bits_per_byte", "score"), "scores.bpb_total counts all targets, scores.bpb_content those with bytes"
    ),
    **dict.fromkeys(
        ("loss", "mean", "cross_entropy", "ce", "xent"), "scores.nats.mean() is the loss of an id, in nats"
    ),
    **dict.fromkeys(("nll", "losses"), "scores.nats is the loss of each id"),
    **dict.fromkeys(
        ("keys", "items", "metrics", "to_dict", "_asdict"),
        "vars(scores) has its arrays by name, and scores.bpb_total is a number",
    ),
    "compare": "slm eval RUN --losses FILE in a shell writes what slm compare takes",
    **dict.fromkeys(("perplexity", "ppl"), "math.exp(scores.nats.mean()) is that of an id; scores.bpb_total compares"),
}
"""Names of scores in other libraries, each with what stands for it."""
_OF_SPLIT = re.compile(r"(val|valid|validation|eval|test|mean|avg)_")
"""The beginning of names such as `val_loss` and `eval_perplexity`."""


@explains_indexing
@dataclass(frozen=True, repr=False)
class Scores:
    """The loss of each target of each document, in their order. N targets, D documents."""

    nats: NDArray[np.float64]
    """[N]: negative log-likelihood of each target, in nats."""
    targets: NDArray[np.uint32]
    """[N]: the target ids."""
    nbytes: NDArray[np.uint32]
    """[N]: raw bytes of each target; 0 for specials."""
    offsets: Ints
    """[D + 1]: where each document's targets begin."""
    doc_bytes: Ints
    """[D]: raw bytes of each document, from the data."""
    documents: str | None = None
    """The digest of the documents, independent of the tokenizer; None where the data have none."""

    @staticmethod
    def _elsewhere(name: str) -> str | None:
        """What stands for an attribute or a key of another library."""
        return _ELSEWHERE.get(_OF_SPLIT.sub("", name.lower(), count=1))

    def __getattr__(self, name: str) -> NoReturn:
        hint = f"; {stands}" if (stands := Scores._elsewhere(name)) else ""
        raise AttributeError(f"Scores has no attribute {name!r}{hint}", name=name, obj=None if hint else self)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same losses of the same targets of the same documents."""
        if not isinstance(other, Scores):
            return NotImplemented
        names = [each.name for each in fields(self)]
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    def __lt__(self, other: object) -> bool:
        """Scores have no order of their own. Raises `WrongType`."""
        fix = "compare scores.bpb_total; slm compare of losses says whether two models differ by more than chance"
        raise WrongType("scores are the losses of all targets, and no number", fix=fix)

    def __format__(self, spec: str) -> str:
        return str(self) if not spec else str(self < spec)

    __le__ = __lt__
    __round__ = __lt__
    __hash__ = None  # type: ignore[assignment]  # a hash would have to read all losses

    def __repr__(self) -> str:
        bits = f"bpb_total={self.bpb_total:.4f}, bpb_content={self.bpb_content:.4f}"
        return f"Scores({bits}, {counted(self.n_docs, 'document')}, {counted(self.n_bytes, 'byte')})"

    def _repr_html_(self) -> str:
        scored = (
            f"{counted(self.n_bytes, 'byte')} of {counted(self.n_docs, 'document')}, {self.n_targets:,} ids, each once"
        )
        bits = [("bpb_total", f"{self.bpb_total:.4f}"), ("bpb_content", f"{self.bpb_content:.4f}, without closing ids")]
        return html_table("bits per byte", [*bits, ("scored", scored)])

    @property
    def n_docs(self) -> int:
        """Documents."""
        return len(self.doc_bytes)

    @property
    def n_targets(self) -> int:
        """Scored targets."""
        return len(self.nats)

    @cached_property
    def n_bytes(self) -> int:
        """Raw bytes of all documents."""
        return int(self.doc_bytes.sum())

    @cached_property
    def doc_content_nats(self) -> NDArray[np.float64]:
        """[D]: summed over the targets that have bytes."""
        return self._sums(np.where(self.nbytes > 0, self.nats, 0.0))

    @cached_property
    def doc_special_nats(self) -> NDArray[np.float64]:
        """[D]: summed over the targets without bytes: the closing ids."""
        return self._sums(np.where(self.nbytes > 0, 0.0, self.nats))

    @cached_property
    def sum_content_nats(self) -> float:
        """Summed over all targets that have bytes, rounded once."""
        return math.fsum(self.nats[self.nbytes > 0])

    @cached_property
    def sum_special_nats(self) -> float:
        """Summed over all targets without bytes, rounded once."""
        return math.fsum(self.nats[self.nbytes == 0])

    @property
    def bpb_content(self) -> float:
        """Bits per byte without closing ids."""
        return self._bpb(self.sum_content_nats)

    @property
    def bpb_total(self) -> float:
        """Bits per byte of the documents: the number to rank by."""
        return self._bpb(self.sum_content_nats + self.sum_special_nats)

    def bits(self, *, content: bool = False) -> NDArray[np.float64]:
        """[D]: bits of each document, without closing ids where `content` is set."""
        nats = self.doc_content_nats if content else self.doc_content_nats + self.doc_special_nats
        bits: NDArray[np.float64] = nats / LN2
        return bits

    def check(self) -> None:
        """Raises unless bits per byte exist.

        `BytesDisagree` where in some document the bytes of the scored targets differ from its raw bytes,
        `InvalidConfig` where no document has any, `NotFinite` for nats that are not numbers.
        """
        scored = self._sums(self.nbytes).astype(np.int64)
        wrong = np.flatnonzero(scored != self.doc_bytes)
        if wrong.size:
            doc = int(wrong[0])
            raise BytesDisagree(
                f"document {doc} has {int(self.doc_bytes[doc])} bytes, but its scored ids have {int(scored[doc])}",
                where=f"{wrong.size} of {self.n_docs} documents differ; {int(scored.sum())} bytes scored of "
                f"{self.n_bytes}",
                limit="bits per byte are reported only if every byte is scored once",
                fix="check vocab.json and the data with slmtok verify --deep and slmtok audit",
                document=doc,
                scored=int(scored[doc]),
                expected=int(self.doc_bytes[doc]),
            )
        if not self.n_bytes:
            raise InvalidConfig(
                f"the data have no text to score, in {self.n_docs:,} document{'s' if self.n_docs != 1 else ''}",
                limit="bits per byte need at least one byte",
                fix="score other data, or pack a corpus with text in it",
            )
        # An infinite loss is a probability of 0, and infinite bits per byte are right.
        lost = int(np.count_nonzero(np.isnan(self.nats)))
        if lost:
            raise NotFinite(
                f"the loss of {lost:,} of {self.n_targets:,} targets is not a number",
                limit="bits per byte need all of them",
                fix=(
                    "score an earlier checkpoint, by its ",
                    Argument("step"),
                    OfCommand("; or --precision fp32", "; or slm eval RUN --precision fp32 in a shell"),
                ),
            )

    def _sums(self, values: NDArray[np.generic]) -> NDArray[np.float64]:
        """[D]: sums over each document; 0 for one without targets."""
        sizes = np.diff(self.offsets)
        sums = np.zeros(len(sizes), dtype=np.float64)
        nonempty = np.flatnonzero(sizes)
        if nonempty.size:
            sums[nonempty] = np.add.reduceat(values.astype(np.float64), self.offsets[:-1][nonempty])
        return sums

    def _bpb(self, nats: float) -> float:
        return nats / (LN2 * self.n_bytes)


@explains_indexing
class ScoringWindows(NamedTuple):
    """Windows of many documents: inputs `start` to `stop - 1` are read, from `first_scored` on scored. int64 [W]."""

    doc: Ints
    start: Ints
    first_scored: Ints
    stop: Ints


def check_stride(seq_len: int, stride: int | None) -> int:
    """The stride; half of `seq_len` where it is None. Raises `InvalidConfig`."""
    check_range("seq_len", seq_len, 1, fix="set a positive seq_len")
    chosen = max(1, seq_len // 2) if stride is None else stride
    check_range(
        "stride", chosen, 1, seq_len, fix=(Argument("stride", seq_len), ", or less")
    )  # else targets are unscored
    return chosen


def scoring_windows(n_inputs: Ints, seq_len: int, stride: int) -> ScoringWindows:
    """The windows of documents with `n_inputs` inputs (int64 [D]), document by document.

    The first window of a document scores all its inputs; each further one ends `stride` inputs later and scores only
    the new ones, so every target after the first window is preceded by at least `seq_len - stride` inputs.
    """
    n_inputs = np.asarray(n_inputs, dtype=np.int64)
    counts = np.where(n_inputs > 0, 1 + -(-np.maximum(n_inputs - seq_len, 0) // stride), 0)
    doc = np.repeat(np.arange(len(n_inputs), dtype=np.int64), counts)
    ends = np.cumsum(counts)
    number = np.arange(len(doc), dtype=np.int64) - np.repeat(ends - counts, counts)  # of the window in its document
    stop = np.minimum(seq_len + number * stride, n_inputs[doc])
    first_scored = np.where(number == 0, 0, seq_len + (number - 1) * stride)
    return ScoringWindows(doc, np.maximum(0, stop - seq_len), first_scored, stop)


def score(
    model: Any,
    source: TokenSource,
    vocab: VocabMeta,
    *,
    seq_len: int,
    stride: int | None = None,
    device: str | torch.device | None = None,
    autocast: str | None = None,
    batch_size: int | None = None,
    stateful: bool = False,
    progress: Progress | None = None,
) -> Scores:
    """Scores all documents of a source with windows of `seq_len` inputs, moved by `stride` (default: half of it).

    `stateful`: a model with a state of fixed size keeps it through a document, which it reads `seq_len` inputs at a
    time without overlap; its context is then unlimited. `autocast` names a dtype of torch. `batch_size` limits the
    windows of one pass (default: by memory). The model returns to the mode it was in.

    Raises what `Scores.check` raises, and `InvalidConfig` for a stride that leaves targets out.
    """
    check_report("progress", progress, "done, total")
    stride = check_stride(seq_len, stride)
    device = str(device if device is not None else next(model.parameters()).device)
    limit = batch_size or max(1, min(MAX_BATCH_SIZE, MAX_BATCH_LOGITS // (seq_len * vocab.n_vocab)))
    # Its module imports torch, which commands do behind a spinner.
    from slmmodel.models.protocol import eval_mode

    scorers = []
    with eval_mode(model):
        for block in blocks_of(source):
            scorers.append(_BlockScorer(model, block, vocab.pad_id, device, autocast, progress))
            if stateful:
                scorers[-1].stateful(seq_len, limit)
            else:
                scorers[-1].windowed(seq_len, stride, limit)
    targets = np.concatenate([scorer.targets for scorer in scorers])
    scores = Scores(
        nats=np.concatenate([scorer.nats for scorer in scorers]),
        targets=targets,
        nbytes=vocab.token_nbytes[targets],
        offsets=prefix_sums(np.concatenate([scorer.n_inputs for scorer in scorers])),
        doc_bytes=np.concatenate([scorer.block.nbytes() for scorer in scorers]),
        documents=source.documents_digest,
    )
    scores.check()
    return scores


@dataclass
class _BlockScorer:
    """Scores one block with one model."""

    model: Any
    block: DocumentBlock
    pad_id: int
    device: str
    autocast: str | None
    progress: Progress | None

    def __post_init__(self) -> None:
        self.n_inputs = count_inputs(self.block.lengths())
        self.offsets = prefix_sums(self.n_inputs)
        self.nats = np.zeros(int(self.offsets[-1]), dtype=np.float64)
        self.targets = np.zeros(len(self.nats), dtype=np.uint32)
        self._done = 0

    def windowed(self, seq_len: int, stride: int, limit: int) -> None:
        """All windows, those of similar length together."""
        windows = scoring_windows(self.n_inputs, seq_len, stride)
        longest_first = np.argsort(windows.start - windows.stop, kind="stable")
        for first in range(0, len(longest_first), limit):
            chosen = longest_first[first : first + limit]
            self._score(ScoringWindows(*(field[chosen] for field in windows)))

    def stateful(self, seq_len: int, limit: int) -> None:
        """Documents of similar length side by side, from beginning to end, with one state for each group of them."""
        longest_first = np.argsort(-self.n_inputs, kind="stable")
        longest_first = longest_first[self.n_inputs[longest_first] > 0]
        for first in range(0, len(longest_first), limit):
            docs = longest_first[first : first + limit]
            state = self.model.init_state(len(docs), self.device)
            for start in range(0, int(self.n_inputs[docs[0]]), seq_len):
                # A document that has ended continues as padding, of which nothing is scored.
                begin, stop = np.minimum(start, self.n_inputs[docs]), np.minimum(start + seq_len, self.n_inputs[docs])
                self._score(ScoringWindows(docs, begin, begin, stop), state)

    def _score(self, windows: ScoringWindows, state: Any = None) -> None:
        """One forward pass; stores nats and targets of the scored inputs."""
        lengths = windows.stop - windows.start
        ids = np.full((len(lengths), int(lengths.max()) + 1), self.pad_id, dtype=np.int64)
        for row, (doc, start, stop) in enumerate(
            zip(windows.doc.tolist(), windows.start.tolist(), windows.stop.tolist(), strict=True)
        ):
            ids[row, : stop - start + 1] = self.block.ids(doc, start, stop + 1)
        nats = self._nats(ids, state)
        column = np.arange(ids.shape[1] - 1)
        is_scored = (column >= (windows.first_scored - windows.start)[:, None]) & (column < lengths[:, None])
        indices = ((self.offsets[windows.doc] + windows.start)[:, None] + column)[is_scored]
        self.nats[indices] = nats[is_scored]
        self.targets[indices] = ids[:, 1:][is_scored]
        self._done += len(indices)
        if self.progress is not None:
            self.progress(self._done, len(self.nats))

    def _nats(self, ids: Ints, state: Any) -> NDArray[np.float64]:
        """Nats of all targets of ids [B, T + 1]: float64 [B, T]."""
        import torch

        tensor = torch.from_numpy(ids).to(self.device)
        dtype = None if self.autocast is None else getattr(torch, self.autocast)
        with torch.no_grad():
            with nullcontext() if dtype is None else torch.autocast(tensor.device.type, dtype):
                logits = self.model(tensor[:, :-1], **({} if state is None else {"state": state})).logits
            nats: NDArray[np.float64] = negative_log_likelihood(logits, tensor[:, 1:]).cpu().numpy()
        return nats


def negative_log_likelihood(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Nats of targets [B, T] under logits [B, T, V]: exponentials in float32, their sum and its log in float64."""
    import torch

    logits = logits.float()
    if logits.device.type == "mps":  # has no float64
        logits, targets = logits.cpu(), targets.cpu()
    largest = logits.amax(-1, keepdim=True)
    target_logits = (logits.gather(-1, targets.unsqueeze(-1)) - largest).squeeze(-1).double()
    nats: torch.Tensor = (logits - largest).exp_().sum(-1, dtype=torch.float64).log() - target_logits
    return nats
