"""The state before and after a step (`run_files.TrainState`), how a run ends (`StopSignals`, `RunResult`), its card.

The state describes what was consumed: a batch that was prefetched and not trained on leaves no trace in it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from slmmodel.data import Cursor, Loader
from slmmodel.data.loader import GlobalBatch
from slmmodel.data_config import DataConfig
from slmmodel.run_files import FINAL_REASONS, Counters, Result, TrainState
from slmmodel.sizes import format_bytes, format_count, format_time
from slmmodel.training.step import StepResult

INTERRUPTED, TERMINATED = 130, 143
REASON_BY_EXIT_STATUS = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}
"""Why a run ends before its planned steps are done, by exit status."""
SAVE_SIGNAL: int | None = getattr(signal, "SIGUSR1", None)
HANGUP_SIGNAL: int | None = getattr(signal, "SIGHUP", None)


def initial_state() -> TrainState:
    """The state before step 0."""
    counters = Counters(step=0, tokens=0, targets=0, bytes=0, documents=0, flops=0.0, seconds=0.0)
    return TrainState(
        counters=counters,
        cursor=list(Cursor()),
        steps=0,
        validation=None,
        best_bpb=None,
        evals_since_best=0,
        decay_steps=None,
        replanned=False,
        metrics_length=0,
    )


def count_step(
    state: TrainState, global_batch: GlobalBatch, result: StepResult, loader: Loader, flops_per_token: float
) -> None:
    """Adds a step that was taken to the totals."""
    counters = state.counters
    # Of the first sequence: a batch over several blocks has sequences of one length, a batch of `bucket` one block.
    epoch, block, _ = global_batch.sequence_keys[0].tolist()
    tokens = int(loader.packing(epoch, block).n_columns_of(global_batch.sequence_keys[:, 2]).sum())
    counters.step += 1
    counters.tokens += tokens
    counters.targets += global_batch.n_targets
    counters.bytes += result.bytes
    counters.documents += result.documents
    counters.flops += tokens * flops_per_token
    state.cursor = list(global_batch.next)


class StopSignals:
    """What signals asked for: SIGTERM, SIGHUP and SIGINT end the run, SIGUSR1 saves a checkpoint after the step.

    Windows has no SIGHUP and no SIGUSR1. A second SIGINT ends the process at once. An ignored signal stays ignored, as
    SIGHUP under nohup and SIGINT of a background job of a script.
    """

    exit_status = 0
    """0, 130 or 143."""
    number = 0
    """of the signal of the exit status"""
    save = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == SAVE_SIGNAL:
            self.save = True
            return
        if number == signal.SIGINT and self.exit_status:
            raise KeyboardInterrupt
        self.exit_status, self.number = INTERRUPTED if number == signal.SIGINT else TERMINATED, number

    @classmethod
    @contextmanager
    def handled(cls) -> Iterator[StopSignals]:
        """Handlers for the length of the block, restored afterwards; only the main thread can install them."""
        signals, before = cls(), {}
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT, HANGUP_SIGNAL, SAVE_SIGNAL):
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    before[number] = signal.signal(number, signals._handle)
        try:
            yield signals
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class RunResult(Result):
    """How a run ended, with its totals."""

    path: Path

    @property
    def code(self) -> int:
        """The exit status."""
        return next((code for code, reason in REASON_BY_EXIT_STATUS.items() if reason == self.reason), 0)

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return self.reason in FINAL_REASONS

    def to_dict(self) -> dict[str, Any]:
        """JSON-compatible values."""
        return {**self.model_dump(), "path": str(self.path)}


CARD = """\
# A small language model

A `{model[arch]}` model ({shape}; {parameters} parameters) over {model[n_vocab]:,} ids, sequence length \
{model[seq_len]}.

* trained on {text} of text in {result.tokens:,} tokens, {result.epochs:.2f} epochs, {result.step:,} steps of \
{each_step:,.0f} tokens{on_average}, {time}
* optimizer {optim[name]}, peak learning rate {optim[lr]:g}, schedule {optim[schedule][kind]}, seed {run[seed]}, \
{result.precision}
* ended because: {result.reason}
{more}
`config.yaml` is {configuration}, `vocab.json` and `tok.json` the tokenizer, `metrics.jsonl` the
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
    more += "".join(f"* branch {origin}\n" for origin in result.branch)
    return CARD.format(
        **config,
        configuration="the configuration of the steps after the branch" if result.branch else "the whole configuration",
        shape=", ".join(f"{name} {model[name]}" for name in sizes if name in model),
        parameters=format_count(result.parameters),
        text=format_bytes(result.bytes),
        # A branch may have another batch than the steps before it; early stopping ends before the planned steps.
        each_step=result.tokens / max(result.step, 1),
        on_average=" on average" * (result.tokens != result.step * config["run"]["batch_tokens"]),
        time=format_time(result.seconds),
        result=result,
        more=more,
    ).encode()
