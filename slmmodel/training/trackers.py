"""Trackers of `run.track`: the metrics of a run in TensorBoard, trackio and Weights & Biases, by their own packages.

Tags are grouped as these tools show them: `train/loss`, `val/bpb`, `optim/lr`. Nothing is sent over a network unless
the environment asks for it, as `TRACKIO_SPACE_ID` and `WANDB_MODE=online` do: trackio writes to a database on this
machine, wandb to files. To add a tracker, write a class and its line in `TRACKERS`.
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Collection, Mapping
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from slmmodel.errors import Argument, Unreadable, missing_package

PROJECT = "slmmodel"
"""Of trackio and wandb, where the environment names no other."""
GROUPS = {
    "train": ("loss", "bpb_train", "epoch", "tokens", "targets", "bytes"),
    "val": ("val_loss", "val_bpb", "val_targets"),
    "optim": ("lr", "grad_norm", "skipped"),
    "speed": ("tokens_per_s", "bytes_per_s", "data_wait", "mfu", "memory", "seconds"),
}
"""Fields of a line of metrics by group."""
TAGS = {
    name: f"{group}/{name.removeprefix('val_').removesuffix('_train')}"
    for group, names in GROUPS.items()
    for name in names
}
"""`val_bpb` is `val/bpb`."""


class RunInfo(NamedTuple):
    """What a tracker records of a run. `step` is the last step that is kept: 0 in a new run."""

    folder: Path
    config: Mapping[str, Any]
    step: int


class Tracker(Protocol):
    """Where metrics go besides `metrics.jsonl`."""

    def __init__(self, run: RunInfo) -> None: ...

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Records the values of a step by tag."""

    def close(self) -> None:
        """Writes what is left."""


class TensorBoard:
    """Event files in `tensorboard/` of the run: `tensorboard --logdir RUN`."""

    def __init__(self, run: RunInfo) -> None:
        from torch.utils.tensorboard import SummaryWriter

        # A continued run trains some steps again; they replace the logged ones.
        self._writer: Any = SummaryWriter(str(run.folder / "tensorboard"), purge_step=run.step + 1)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """A scalar for each value."""
        for tag, value in values.items():
            self._writer.add_scalar(tag, value, step)

    def close(self) -> None:
        """Closes the file."""
        self._writer.close()


class Trackio:
    """The project `slmmodel` of trackio's database on this machine: `trackio show --project slmmodel`."""

    def __init__(self, run: RunInfo) -> None:
        import trackio

        self._trackio: Any = trackio
        # trackio prints what it does to stdout, which is for the result of the command.
        with redirect_stdout(io.StringIO()):
            trackio.init(
                project=PROJECT,
                name=run.folder.name,
                config=dict(run.config),
                resume="allow" if run.step else "never",
                embed=False,
            )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """One row."""
        self._trackio.log(dict(values), step=step)

    def close(self) -> None:
        """Waits until all rows are stored."""
        with redirect_stdout(io.StringIO()):
            self._trackio.finish()


class Wandb:
    """A run of Weights & Biases in `wandb/` of the run, offline unless `WANDB_MODE` is set: `wandb sync`.

    A continued run keeps its id, so that its parts become one run.
    """

    def __init__(self, run: RunInfo) -> None:
        import wandb

        id_file = run.folder / "wandb" / "id"
        if not id_file.exists():
            id_file.parent.mkdir(exist_ok=True)
            id_file.write_text(secrets.token_hex(4))
        self._run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=run.folder.name,
            id=id_file.read_text(),
            resume="allow",
            dir=str(run.folder),
            config=dict(run.config),
            mode=None if "WANDB_MODE" in os.environ else "offline",
            settings=wandb.Settings(silent=True),
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """One row."""
        self._run.log(dict(values), step=step)

    def close(self) -> None:
        """Writes or sends what is left."""
        self._run.finish()


TRACKERS: dict[str, type[Tracker]] = {"tensorboard": TensorBoard, "trackio": Trackio, "wandb": Wandb}
"""By name, which is that of the package."""


def check_trackers(names: Collection[str]) -> None:
    """Raises `MissingPackage` for a tracker whose package is not installed. Imports none."""
    for name in names:
        if find_spec(name) is None:
            raise missing_package(f"run.track={name}", name)


def open_trackers(names: Collection[str], run: RunInfo) -> list[Tracker]:
    """The trackers of these names. Raises `MissingPackage`, and `Unreadable` for one that its package refuses."""
    check_trackers(names)
    opened: list[Tracker] = []
    for name in names:
        try:
            opened.append(TRACKERS[name](run))
        except Exception as error:
            for tracker in opened:
                tracker.close()
            raise Unreadable(
                f"{name} cannot be opened: {error}",
                where=str(run.folder),
                fix=(Argument("run.track", "none"), ", with which the run continues"),
            ) from error
    return opened


def tagged(values: Mapping[str, float]) -> dict[str, float]:
    """The values of a line of metrics by tag. What a model adds is in the group `model`; the step is not a value."""
    names = (name for name in values if name != "step")
    return {TAGS.get(name, f"model/{name}"): values[name] for name in names}
