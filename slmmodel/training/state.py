"""The state saved between two steps (`TrainState`), how a run ends (`StopSignals`, `RunResult`), and its model card.

The state describes what was consumed: a batch that was prefetched and not trained on leaves no trace in it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from pydantic import TypeAdapter

from slmmodel.data import Cursor, Loader
from slmmodel.data.loader import GlobalBatch
from slmmodel.data_config import DataConfig
from slmmodel.run_files import FINISHED, VERSION
from slmmodel.sizes import format_bytes, format_count, format_time
from slmmodel.training.loss import Validation
from slmmodel.training.step import StepResult

INTERRUPTED, TERMINATED = 130, 143
REASONS = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}
"""Why a run ends before its planned steps are done, by exit status."""
SAVE_SIGNAL: int | None = getattr(signal, "SIGUSR1", None)


@dataclass
class Counters:
    """Totals since step 0; `run_files.Counters` is their schema."""

    step: int = 0
    tokens: int = 0
    """Columns, padding included: sequences times their length."""
    targets: int = 0
    bytes: int = 0
    documents: int = 0
    """Documents whose end was a target."""
    flops: float = 0.0
    seconds: float = 0.0
    """Of training over all processes of the run, without validation and saving."""


@dataclass
class TrainState:
    """Counters, the cursor of the data, and what early stopping, schedule and metrics need.

    `run_files.TrainStateFile` is the schema of its file.
    """

    counters: Counters = field(default_factory=Counters)
    cursor: Cursor = field(default_factory=Cursor)
    steps: int = 0
    """Planned steps."""
    validation: Validation | None = None
    """The last one; None where it was not finite."""
    best_bpb: float | None = None
    evals_since_best: int = 0
    decay_steps: int | None = None
    """Length of the decay where a time budget was replanned."""
    replanned: bool = False
    """Whether the time budget has been replanned at the start of the decay."""
    bytes_read_by_source: dict[str, int] = field(default_factory=dict)
    """The byte from which the present stage of the data reads the documents of each source, by their digest."""
    metrics_length: int = 0
    """Bytes of `metrics.jsonl` at the last checkpoint."""

    def count(self, global_batch: GlobalBatch, result: StepResult, loader: Loader, flops_per_token: float) -> None:
        """Adds a step that was taken to the totals."""
        counters = self.counters
        # Of the first sequence: a batch over several blocks has sequences of one length, a batch of `bucket` one block.
        epoch, block, _ = global_batch.sequence_keys[0].tolist()
        tokens = int(loader.packing(epoch, block).n_columns_of(global_batch.sequence_keys[:, 2]).sum())
        counters.step += 1
        counters.tokens += tokens
        counters.targets += global_batch.n_targets
        counters.bytes += result.bytes
        counters.documents += result.documents
        counters.flops += tokens * flops_per_token
        self.cursor = global_batch.next

    def to_dict(self) -> dict[str, Any]:
        """JSON-compatible values."""
        values = {**asdict(self), "cursor": list(self.cursor), "version": VERSION}
        values["positions"] = values.pop("bytes_read_by_source")  # their name in the file
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainState:
        """The values of a `train_state.json`."""
        return TypeAdapter(cls).validate_python({**values, "bytes_read_by_source": values.get("positions", {})})


class StopSignals:
    """What signals asked for: SIGTERM and SIGINT end the run after the current step, SIGUSR1 saves a checkpoint.

    Windows has no SIGUSR1. A second SIGINT ends the process at once.
    """

    exit_status = 0
    """0, 130 or 143."""
    save = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == SAVE_SIGNAL:
            self.save = True
        elif number == signal.SIGTERM:
            self.exit_status = TERMINATED
        elif self.exit_status:
            raise KeyboardInterrupt
        else:
            self.exit_status = INTERRUPTED

    @classmethod
    @contextmanager
    def handled(cls) -> Iterator[StopSignals]:
        """Handlers for the length of the block, restored afterwards; only the main thread can install them."""
        signals, before = cls(), {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT, SAVE_SIGNAL):
                if number is not None:
                    before[number] = signal.signal(number, signals._handle)
        try:
            yield signals
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass(kw_only=True)
class RunResult(Counters):
    """How a run ended, with its totals. `reason`: finished, early-stop, interrupted or terminated.

    `run_files.Result` is the schema of its file.
    """

    path: Path
    reason: str
    steps: int
    epochs: float
    loss: float | None
    """Nats per target of the last step; None where it was not finite."""
    val_loss: float | None
    val_bpb: float | None
    """Of the last validation, if it was finite."""
    best_bpb: float | None
    skipped: int
    micro_batch: int
    parameters: int
    precision: str
    device: str
    weights_sha256: str | None
    """Digest of the final weights of a finished run."""
    resumed_from: int | None
    notes: tuple[str, ...]

    @property
    def code(self) -> int:
        """The exit status."""
        return next((code for code, reason in REASONS.items() if reason == self.reason), 0)

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.reason in FINISHED

    def to_dict(self) -> dict[str, Any]:
        """JSON-compatible values."""
        return {**asdict(self), "path": str(self.path)}


CARD = """\
# A small language model

A `{model[arch]}` model ({shape}; {parameters} parameters) over {model[n_vocab]:,} ids, sequence length \
{model[seq_len]}.

* trained on {text} of text in {result.tokens:,} tokens, {result.epochs:.2f} epochs, {result.steps:,} steps of \
{run[batch_tokens]:,} tokens, {time}
* optimizer {optim[name]}, peak learning rate {optim[lr]:g}, schedule {optim[schedule][kind]}, seed {run[seed]}, \
{result.precision}
* ended because: {result.reason}
{more}
`config.yaml` is the whole configuration, `vocab.json` and `tok.json` the tokenizer, `metrics.jsonl` the
training curve, `fingerprint.json` what it was trained on. `slm sample`, `slm eval` and `slm export` read
this folder.
"""


def model_card(config: Mapping[str, Any], result: RunResult) -> bytes:
    """The `README.md` of a finished run, from its configuration and its own numbers."""
    model, more = config["model"], ""
    sizes = ("n_layers", "d_model", "n_heads", "n_kv_heads", "hidden_size")
    if result.val_bpb is not None:
        more += f"* validation without overlapping windows: {result.val_bpb:.4f} bits per byte, "
        more += f"{result.val_loss:.4f} nats per token\n"
    if share := DataConfig.model_validate(config["data"]).passkey:
        more += f"* {share:.1%} of the training tokens are generated passkey tasks\n"
    if result.skipped:
        more += f"* {result.skipped} steps were skipped because loss or gradient was not finite\n"
    return CARD.format(
        **config,
        shape=", ".join(f"{name} {model[name]}" for name in sizes if name in model),
        parameters=format_count(result.parameters),
        text=format_bytes(result.bytes),
        time=format_time(result.seconds),
        result=result,
        more=more,
    ).encode()
