"""Before the first step: the run folder, its configuration and data, the cost of a step, and the run's fingerprint.

Everything that can be refused is refused before anything is written or removed. No model is built here.
"""

from __future__ import annotations

import hashlib
import math
import re
import shlex
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from slmmodel import checkpoint, run_entries
from slmmodel import config as configs
from slmmodel.budget import Budget, notes_on_rounding
from slmmodel.checkpoint import RunFolder
from slmmodel.checks import check_utf8
from slmmodel.config import RunConfig, Settings, resolve, settings_of
from slmmodel.data import Loader, RunData, open_data
from slmmodel.data.block_cache import CachedStream
from slmmodel.data.opening import StageData
from slmmodel.data.packing import Packing
from slmmodel.data.source import blocks_of
from slmmodel.data.strategies import STRATEGIES, strategy_of
from slmmodel.data_config import DataConfig, DataSource
from slmmodel.distributed import BYTES_PER_PARAMETER, World, uses_fsdp
from slmmodel.errors import (
    MAX_NAMED,
    Argument,
    Fix,
    InvalidConfig,
    Mismatch,
    OfCommand,
    OptionError,
    OutOfMemory,
    OutputExists,
    SlmmodelError,
)
from slmmodel.files import new_name, write_file
from slmmodel.folder_lock import FolderHandle, check_in_place, locked
from slmmodel.hardware import has_bf16_matmul
from slmmodel.models import Counts, count
from slmmodel.run_files import FINGERPRINT_FIELDS, VERSION, Counters
from slmmodel.sizes import ceil_div, format_bytes, format_count
from slmmodel.training import begun
from slmmodel.training.loss import logits_bytes
from slmmodel.training.microbatch import free_on
from slmmodel.training.state import initial_state
from slmmodel.training.trackers import check_trackers
from slmmodel.yaml_files import to_yaml

_MIN_VECTORS = 8
"""Vectors that a block keeps for its backward pass, at least: input, q, k, v, attention, and 3 of the MLP."""
_LEAST_USUAL_SEQ_LEN, _MAX_USUAL_SEQ_LEN = 32, 1024
MAX_LAG_SECONDS = 30.0
"""Until a network file system shows other machines a new folder."""


def value_of(settings: Settings, name: str, default: Any) -> Any:
    """One setting outside `model`, parsed: `4.0` threads are 4. Raises `InvalidConfig`."""
    section, option = name.split(".")
    return configs.validate({name: settings[name]})[section][option] if name in settings else default


@contextmanager
def exclusive(path: Path, world: World) -> Iterator[FolderHandle | None]:
    """Holds the lock of a run folder on the main rank, which gets the folder, open; other ranks get None.

    Raises `OutputExists` on all ranks while another process has the lock, and what `locked` raises.
    """
    with ExitStack() as stack:
        failure, handle = None, None
        try:
            if world.is_main:
                handle = stack.enter_context(locked(path))
        except SlmmodelError as error:
            failure = error
        if world.reduce("max", [failure is not None])[0]:
            raise failure or OutputExists(f"the main rank cannot lock {str(path)!r}", fix="see its error")
        yield handle


def check_settings(settings: Settings) -> None:
    """Raises `InvalidConfig`, `UnknownName` for settings that no data make right."""
    with configs.add_origin_to_errors(settings):
        sections = configs.check_without_data(settings)
        strategy_of(sections.get("data", {}).get("pack", DataConfig().pack))


def _longer_budget(settings: Settings, run: RunFolder) -> str | None:
    """The budget among the settings, as `--budget` takes it, where it is longer than that of a finished run.

    A planned time is not spent to the second.
    """
    given = {name.removeprefix("run.budget."): each.value for name, each in settings.items() if "run.budget." in name}
    for kind, amount in given.items():
        spent = run.result.get("seconds" if kind == "time" else kind, math.inf)
        if Budget.model_validate({kind: amount}).amount > max(spent, run.config["run"]["budget"].get(kind, 0)):
            return f"{kind}={str(amount).strip()}"
    return None


def _differences(settings: Settings, data: RunData | None, run: RunFolder) -> list[str]:
    """What a call asks for that a finished run does not have, its budget aside: settings with both values, and data."""
    # The sizes of the preset that the data choose do not matter: only options that were given are compared.
    found: list[str] = []
    with suppress(SlmmodelError):
        config, _ = resolve(settings, run.vocab, int(run.result.get("tokens", 0)), "cpu")
        wrong = configs.contradictions(settings, config, run.config)
        found += [
            f"{name} {_shown(now)}, in the run {_shown(old)}"
            for name, now, old in wrong
            if not name.startswith("run.budget.")
        ]
    with suppress(SlmmodelError):
        opened = data or open_packed_data(settings, run.config)
        now = {"fingerprint": opened.vocab.fingerprint, "data": opened.train.digest}
        now |= {} if opened.val is None else {"val": opened.val.digest}
        found += [FINGERPRINT_FIELDS[name][1] for name, value in now.items() if run.fingerprint.get(name) != value]
    return found


def _shown(value: object) -> str:
    r"""A value of a setting: a text with a backslash or white space as in Python, since `\n` may be either."""
    is_plain = not isinstance(value, str) or (value.split() == [value] and "\\" not in value)
    return str(value) if is_plain else repr(value)


def locate_run(
    path: Path,
    *,
    force: bool,
    allow_mismatch: Collection[str] = (),
    settings: Settings | None = None,
    data: RunData | None = None,
) -> RunFolder:
    """The run folder at a path: one to continue, one to replace (`force`), or a new one. Removes nothing.

    A budget among the settings is that of the fix for a finished run, which then is trained longer, unless other
    settings or the data differ from those of the run.
    Raises `OutputExists`, also for a finished run, `Unreadable` for a folder in the place of a file, and what
    `RunFolder.open` raises.
    """
    check_utf8(path)
    run = RunFolder(path)
    if not run.exists() and not run.is_version_1():
        run.refuse_other_content()
        begun.add(path)
        return run
    run.check_entries()
    if force:
        begun.add(path)
        return run
    run = RunFolder.open(path, allow_mismatch=allow_mismatch)
    if run.finished:
        differences = [] if settings is None else _differences(settings, data, run)
        more = f" and {len(differences) - MAX_NAMED} more" if len(differences) > MAX_NAMED else ""
        longer = ""
        if run.checkpoints.list():
            longer = f", or to train it longer {run.longer_as_new(_longer_budget(settings or {}, run))}"
        # An `Argument` in a fix reads `output=` in Python, and `--output` on the command line.
        raise OutputExists(
            f"the run {str(path)!r} is finished",
            where=f"{run.result.get('steps', '?')} steps, reason: {run.result.get('reason', '?')}",
            limit=f"what differs: {'; '.join(differences[:MAX_NAMED])}{more}" if differences else None,
            fix=(
                *(() if differences else ("another ",)),
                Argument("output", *shlex.split(new_name(path))) if differences else Argument("output"),
                ", or " if differences or not longer else ", ",
                Argument("force", True),
                f", which replaces it{'' if differences else longer}",
                *begun.of_loop(path),
            ),
            path=str(path),
        )
    run.checkpoints.check_entries()
    return run


NO_RECORD = "allow_mismatch has no effect on a new run, which has no record to differ from"
"""The note on that option of a run that begins."""


def wait_until_visible(run: RunFolder, world: World) -> bool:
    """Whether the run exists; where it does, waits until each rank sees it.

    Raises `InvalidConfig` on all ranks where some see it and others do not after `MAX_LAG_SECONDS`.
    """
    exists = run.exists()
    anywhere, deadline = world.reduce("max", [exists])[0] > 0, time.monotonic() + MAX_LAG_SECONDS
    while anywhere and not exists and time.monotonic() < deadline:
        time.sleep(0.1)
        exists = run.exists()
    missing = [float(rank == world.rank and anywhere and not exists) for rank in range(world.size)]
    blind = [str(rank) for rank, wrong in enumerate(world.reduce("max", missing)) if wrong]
    if blind:
        raise InvalidConfig(
            f"rank {', '.join(blind)} does not see the run folder {str(run.path)!r} of the others",
            limit="one folder on storage that all machines share, under one path",
            fix=("name such a folder as ", Argument("output"), ", and the same on every machine"),
            option="output",
        )
    return anywhere


def check_ranks_agree(fingerprint: Mapping[str, Any], world: World) -> None:
    """Raises `Mismatch` on all ranks where they train on different data, or with different settings."""
    fields = [name for name in FINGERPRINT_FIELDS if name != "threads"]
    # 48 bits, which float64 holds exactly.
    digests = [int(hashlib.sha256(str(fingerprint[name]).encode()).hexdigest()[:12], 16) for name in fields]
    lowest, highest = world.reduce("min", digests), world.reduce("max", digests)
    for name, low, high in zip(fields, lowest, highest, strict=True):
        if low != high:
            raise Mismatch(
                f"the {world.size} ranks of this training disagree: {FINGERPRINT_FIELDS[name][1]}",
                limit="the same data, settings and versions on every rank",
                fix="start the same command on every machine, with data that all of them read alike",
                field=name,
            )


def notes_on_ranks(config: RunConfig, world: World) -> list[str]:
    """Remarks on settings that the number of ranks makes useless or slow."""
    size, batch_size, notes = world.size, config.batch_size, []
    if size == 1 and config.run.parallel != "auto":
        notes.append(f"run.parallel {config.run.parallel} has no effect on one process: start several with torchrun")
    if batch_size > size and batch_size % size and not strategy_of(config.data.pack).forms_batches:
        largest = ceil_div(batch_size, size)
        notes.append(
            f"{size} ranks cannot share a batch of {batch_size} sequences evenly, so "
            f"{1 - batch_size / (largest * size):.0%} of their time is idle: "
            f"--set run.batch_tokens={largest * size * config.seq_len} is {largest} sequences a rank"
        )
    return notes


def notes_on_patience(config: RunConfig, steps: int, eval_every: int) -> list[str]:
    """A remark on early stopping that cannot stop a run, since it has too few validations before its last step."""
    patience, validations = config.run.patience, (steps - 1) // eval_every
    if not patience or patience < validations:
        return []
    return [
        f"run.patience {patience} cannot stop this run: it has {validations} validations before its last step, one "
        f"every {eval_every} steps, and the first one is the best so far: --set run.eval_every=N has more"
    ]


def open_packed_data(settings: Settings, config_before: Mapping[str, Any] | None) -> RunData:
    """Packed data, named by the settings, else by the configuration of the run that continues."""
    section = {} if config_before is None else config_before["data"]
    named = settings["data.train"].value if "data.train" in settings else section.get("train", "")
    stages = settings["data.stages"].value if "data.stages" in settings else section.get("stages")
    if not isinstance(named, str) or stages:
        raise OptionError(
            "data.train is a list of sources, or has stages",
            where="settings",
            limit="without slmtok one source of packed data",
            fix="slm train --config FILE, which opens them",
            option="data",
        )
    train = str(named)
    if not train:
        raise OptionError("no training data are named", fix="slm train DATA", option="data")
    return open_data(train, value_of(settings, "data.val", str(section.get("val", "auto"))))


def notes_on_time(settings: Settings) -> list[str]:
    """A note on a budget of time without a unit; none on one of a file, where `config.yaml` of a run has it."""
    given = settings.get("run.budget.time")
    if given is None or ", line " in given.where or not re.fullmatch(r"\d+(\.\d*)?", str(given.value).strip()):
        return []
    number = float(given.value)
    seconds = f"{number:g} second{'s' * (number != 1)}"
    return [f"the budget time={given.value} is {seconds} of training; {given.value}min is minutes"]


def notes_on_budget(settings: Settings, config: RunConfig, per_step: Mapping[str, float]) -> list[str]:
    """A note on a budget among the settings that whole steps exceed by much."""
    budget = config.run.budget
    if budget.kind in ("time", "steps") or not any(name.startswith("run.budget.") for name in settings):
        return []
    return notes_on_rounding(budget, per_step[budget.kind], steps_of(budget, per_step))


class _Planned(NamedTuple):
    """A new run, and the settings that were given."""

    config: RunConfig
    data: RunData
    device: torch.device
    settings: Settings

    @property
    def strategy(self) -> type[Packing]:
        """How documents fill sequences."""
        return strategy_of(self.config.data.pack)

    @property
    def reads_text(self) -> bool:
        """Whether some of the data are text, whose ids a cache keeps."""
        streams = (each.stream for each in getattr(self.data.train, "components", ()))
        return any(isinstance(stream, CachedStream) for stream in streams)


_ACTS_WITH: dict[str, tuple[str, Callable[[_Planned], bool]]] = {
    **dict.fromkeys(
        ("optim.momentum", "optim.ns_steps", "optim.ns_dtype"),
        ("optim.name muon", lambda run: run.config.optim.name == "muon"),
    ),
    **dict.fromkeys(
        ("optim.gate_lr", "optim.gate_weight_decay"),
        ("model.arch infini that has a memory", lambda run: getattr(run.config.architecture, "memory", "off") != "off"),
    ),
    **dict.fromkeys(
        ("optim.schedule.shape", "optim.schedule.decay"),
        ("optim.schedule.kind wsd", lambda run: run.config.optim.schedule.kind == "wsd"),
    ),
    "optim.schedule.final": (
        "an optim.schedule.kind that decays",
        lambda run: run.config.optim.schedule.kind != "const",
    ),
    "optim.lr_scaling": ("the rate of the preset, without optim.lr", lambda run: "optim.lr" not in run.settings),
    "model.window": (
        "a model.seq_len above it",
        lambda run: run.config.model.get("window") is None or run.config.model["window"] < run.config.seq_len,
    ),
    "model.rope_base": ("model.positions rope", lambda run: getattr(run.config.architecture, "has_rope", False)),
    "run.eval_every": ("validation data", lambda run: run.data.val is not None),
    "run.deterministic": ("run.device cuda", lambda run: run.device.type == "cuda"),
    "run.cpu_accel": ("run.device cpu", lambda run: run.device.type == "cpu"),
    "data.cache": ("text", lambda run: run.reads_text),
    "data.cache_limit": ("data.cache", lambda run: bool(run.config.data.cache)),
    "data.positions": ("attention", lambda run: not run.config.architecture.recurrent),
    "data.doc_mask": (
        "attention, or data.pack stateful",
        lambda run: not run.config.architecture.recurrent or run.strategy.carries_state,
    ),
    "data.crop_offset": (
        f"data.pack {', '.join(name for name, strategy in STRATEGIES.items() if strategy.has_offset)}",
        lambda run: run.strategy.has_offset,
    ),
}
"""Settings that act with others alone: with what, and whether a run has it."""


def _notes_on_state(config: RunConfig) -> list[str]:
    """A remark on truncated BPTT of a model that has nothing to carry from step to step."""
    pack, model = config.data.pack, config.architecture
    if not strategy_of(pack).carries_state or model.carries_state:
        return []
    off = ", model.memory off" * (model.arch == "infini")
    return [
        f"data.pack {pack} carries no state with model.arch {model.arch}{off}: it reads as concat does, "
        "on one process and without permuting sequences: --set data.pack=concat"
    ]


def configure(
    settings: Settings, config_before: Mapping[str, Any] | None, data: RunData, device: torch.device
) -> tuple[RunConfig, list[str]]:
    """The configuration of a new run; or that of a run which continues, with the options that may change taken from
    `settings`.

    Raises `OptionError` for a setting that contradicts the record, `MissingPackage` for a tracker, and `UnknownName`.
    """
    config, notes = resolve(settings, data.vocab, data.n_train_ids, device.type)
    notes += notes_on_time(settings)
    if config_before is None:
        # A file may list settings that cannot act in this run.
        planned = _Planned(config, data, device, settings)
        given = (name for name, setting in settings.items() if name in _ACTS_WITH and ", line " not in setting.where)
        idle = (name for name in given if not _ACTS_WITH[name][1](planned))
        notes += [f"{name} has no effect: it acts only with {_ACTS_WITH[name][0]}" for name in idle]
        notes += _notes_on_state(config)
    check_trackers(config.run.track)
    if config.run.precision == "bf16" and device.type == "cpu" and not has_bf16_matmul("cpu"):
        notes.append("this CPU has no instructions for bf16, so products take several times as long: --precision fp32")
    if config.run.precision == "fp16" and device.type == "cpu":
        notes.append("products of fp16 take several times as long on a CPU: --precision fp32")
    if config_before is None:
        return config.model_copy(update={"data": _with_absolute_paths(config.data)}), notes
    wrong = configs.contradictions(settings, config, config_before)
    if wrong:
        name, now, recorded = wrong[0]
        raise OptionError(
            f"{name}={_shown(now)} contradicts the run, which has {_shown(recorded)}",
            limit=f"what differs: {', '.join(item[0] for item in wrong)}",
            names=[item[0] for item in wrong],
            fix=("leave it out, another ", Argument("output"), ", or ", Argument("force", True), " to train again"),
            option=name,
        )
    changed = {name: given for name, given in settings.items() if not configs.affects_weights(name)}
    before = settings_of(config_before, run_entries.CONFIG)
    return resolve({**before, **changed}, data.vocab, data.n_train_ids, device.type)[0], []


def with_other_budget(settings: Settings, run: RunFolder) -> str | None:
    """The command that goes on with an unfinished run as a new one, with the budget among the settings; None where its
    newest checkpoint has spent that.
    """
    given = {name.removeprefix("run.budget."): each.value for name, each in settings.items() if "run.budget." in name}
    step = run.checkpoints.newest()
    if len(given) != 1 or step is None:
        return None
    ((kind, amount),) = given.items()
    if Budget.model_validate(given).is_spent(checkpoint.read_train_state(run.checkpoints.path(step))["counters"]):
        return None
    budget = shlex.quote(f"{kind}={str(amount).strip()}")
    return f"slm resume {shlex.quote(str(run.path))} --budget {budget} -o {new_name(run.path)}"


def absolute(data: str) -> str:
    """A path that holds in every folder; words and names that are not paths stay as they are."""
    check_utf8(data)
    return str(Path(data).absolute()) if data not in ("", "auto", "none") and Path(data).exists() else data


def _with_absolute_paths(data: DataConfig) -> DataConfig:
    paths: dict[str, Any] = {name: absolute(getattr(data, name)) for name in ("tokenizer", "val")}
    paths["cache"] = data.cache and str(Path(data.cache).absolute())
    stages = (stage.model_copy(update={"train": _absolute_sources(stage.train)}) for stage in data.stages)
    return data.model_copy(update={**paths, "train": _absolute_sources(data.train), "stages": tuple(stages)})


def _absolute_sources(train: str | tuple[DataSource, ...]) -> str | tuple[DataSource, ...]:
    if isinstance(train, str):
        return absolute(train)
    return tuple(source.model_copy(update={"path": absolute(source.path)} if source.path else {}) for source in train)


def make_loader(data: RunData, config: RunConfig, *, stage: StageData | None = None, pin: bool = False) -> Loader:
    """The loader of a run, or of one of its stages. Raises what packings raise."""
    # `loss_on`: whether all targets of a window are scored or its last one; `crop_offset`: where an epoch cuts first;
    # `positions`: how ids are numbered, from the start of each span (`reset`), of the document (`true`) or of the row.
    data_config, seq_len = config.data, config.seq_len if stage is None else stage.seq_len or config.seq_len
    loss_on = {} if data_config.loss_on == "all" else {"loss_on": data_config.loss_on}
    own = {
        "seq_len": seq_len,
        "batch_size": config.run.batch_tokens // seq_len,
        "pack": data_config.pack,
        "seed": config.run.seed,
        "shuffle": data_config.shuffle == "documents",
        "crop_offset": data_config.crop_offset,
        "positions": None if data_config.positions == "auto" else data_config.positions,
        "pin": pin,
        **loss_on,
    }
    for name in own.keys() & data_config.options:
        raise InvalidConfig(
            f"data.options.{name} is no option of a packing",
            limit="another setting says it, such as run.batch_tokens, model.seq_len, data.shuffle and run.seed",
            fix=("leave ", Argument(f"data.options.{name}"), " out"),
            option=f"data.options.{name}",
        )
    return Loader(data.train if stage is None else stage.source, data.vocab, **{**data_config.options, **own})


# ---------------------------------------------------------------- costs


@dataclass(frozen=True)
class RunCost:
    """What a run costs: its model, and the averages of one step."""

    counts: Counts
    per_step: Mapping[str, float]
    """`tokens` (columns: B·T, padding included), `targets`, `bytes`, `flops`, and `epochs`: the share of the data."""
    padding_share: float
    fsdp: bool
    """Whether parameters are sharded over ranks (FSDP2)."""
    min_memory: int
    """Bytes that a step takes at least: see `min_memory_of`."""

    def summary(self, config: RunConfig, steps: int | None, begun: Mapping[str, Any]) -> dict[str, Any]:
        """The numbers of `--dry-run`; `steps` None (a time budget) leaves totals open. `begun`: see `totals_of`."""
        totals: dict[str, Any] = dict.fromkeys(("tokens", "bytes", "epochs", "flops"))
        if steps is not None:
            more = steps - begun["step"]
            totals = {name: begun[name] + more * self.per_step[name] for name in totals}
            totals |= {name: round(totals[name]) for name in ("tokens", "bytes")}
        return {
            "arch": config.model["arch"],
            "preset": config.preset,
            "parameters": self.counts.parameters,
            "embedding_share": self.counts.embedding_share,
            "flops_per_token": self.counts.flops_per_token,
            "seq_len": config.seq_len,
            "batch_size": config.batch_size,
            "tokens_per_step": self.per_step["tokens"],
            "steps": steps,
            **totals,
            "padding_share": self.padding_share,
            "memory_bytes": BYTES_PER_PARAMETER * self.counts.parameters,
            "min_memory_bytes": self.min_memory,
            "optimizer": config.optim.name,
            "lr": config.optim.lr,
            "budget": config.run.budget.given(),
        }


def cost_of_run(config: RunConfig, data: RunData, loader: Loader, world: World) -> RunCost:
    """What a run costs. Raises `InvalidConfig` where data, batch or ranks do not allow it, and `OutOfMemory`."""
    counts = count(config.architecture)
    fsdp = uses_fsdp(config.run.parallel, counts.parameters, world)
    _check_ranks(config, loader, world, fsdp=fsdp)
    memory_of = partial(min_memory_of, loader=loader, device=world.device, sharding_ranks=world.size if fsdp else 1)
    min_memory = _check_memory(config, world, memory_of)
    _check_data(config, data, loader)
    packing = loader.packing(epoch=0, block=0)
    stats = packing.stats()
    blocks = data.train.n_blocks or 1
    if data.train.n_blocks is None and config.run.budget.kind == "epochs":
        # Only this budget needs their exact number, which takes a pass over the data.
        blocks = max(sum(1 for _ in blocks_of(data.train)), 1)
    # A group is one sequence, or a batch of a packing that forms batches itself (`bucket`).
    steps_per_epoch = packing.n_groups / loader.groups_per_step
    # The bytes of the block, times the share of its inputs whose target is scored.
    scored_bytes = float(loader.document_block(0).nbytes().sum()) * stats.targets / max(stats.inputs, 1)
    tokens = stats.columns / packing.n_groups * loader.groups_per_step
    per_step = {
        "tokens": tokens,
        "targets": stats.targets / steps_per_epoch,
        "bytes": scored_bytes / steps_per_epoch,
        "flops": tokens * counts.flops_per_token,
        "epochs": 1 / steps_per_epoch / blocks,
    }
    return RunCost(counts, per_step, stats.padding_share, fsdp, min_memory)


def _check_ranks(config: RunConfig, loader: Loader, world: World, *, fsdp: bool) -> None:
    """Raises `InvalidConfig` where the ranks do not allow a run."""
    if loader.batch_size < world.size:
        raise InvalidConfig(
            f"a batch of {loader.batch_size} sequences is smaller than world size {world.size}",
            limit="at least one sequence per rank",
            fix=(Argument("run.batch_tokens", world.size * config.seq_len),),
            option="run.batch_tokens",
        )
    if loader.strategy.carries_state and world.size > 1:
        raise InvalidConfig(
            f"data.pack {loader.pack} (truncated BPTT) keeps its state in one process, world size is {world.size}",
            limit="one rank",
            fix=(Argument("data.pack", "bucket"), ", or run without torchrun"),
            option="data.pack",
        )
    if fsdp and config.optim.name == "muon":
        raise InvalidConfig(
            "muon needs whole matrices, which FSDP2 shards",
            limit="optim.name adamw with run.parallel fsdp",
            fix=(Argument("optim.name", "adamw"), ", or ", Argument("run.parallel", "ddp")),
            option="optim.name",
        )


def with_validation_text(config: RunConfig, data: RunData) -> tuple[RunData, list[str]]:
    """The data without validation documents that have no text, and a note on it.

    A rule by hash may choose no document of a corpus. Raises `InvalidConfig` for validation data that are named.
    """
    if data.val is None or any(block.nbytes().any() for block in blocks_of(data.val)):
        return data, []
    if config.data.val != "auto":
        raise InvalidConfig(
            "the validation data have no text",
            where=config.data.val,
            fix=(Argument("data.val", "none"), ", or other validation data"),
        )
    fact = f"{data.name} has no validation documents with text, so nothing is validated"
    return replace(data, val=None), [f"{fact}; data.val names other ones"]


def _check_data(config: RunConfig, data: RunData, loader: Loader) -> None:
    """Raises `InvalidConfig` where the data do not allow a run."""
    # Shards are one block of documents; of a mixture this is the first one.
    if not len(loader.packing(epoch=0, block=0)) or not loader.document_block(0).nbytes().any():
        where, fix = (data.name, "name data with text in it") if data.name != "-" else ("stdin", "send text to stdin")
        raise InvalidConfig("the data have no text to train on", where=where, fix=fix)
    model, longest = config.architecture, int(loader.document_block(0).lengths().max(initial=0))
    if config.data.positions == "true" and not model.recurrent and longest - 1 > config.seq_len:
        raise InvalidConfig(
            f"data.positions true numbers the ids of a document of {longest:,} ids to its end",
            limit=f"positions below model.seq_len {config.seq_len:,}",
            fix=(Argument("data.positions", "reset"),),
            option="data.positions",
        )
    if config.run.patience and data.val is None:
        raise InvalidConfig(
            f"run.patience {config.run.patience} stops a run by its validation, and nothing is validated",
            where="data.val none" if config.data.val == "none" else f"{data.name} has no validation documents",
            fix=(Argument("run.patience", 0), ", or name validation data: ", Argument("data.val", "DATA")),
            option="run.patience",
        )


def min_memory_of(config: RunConfig, loader: Loader, device: torch.device, sharding_ranks: int = 1) -> int:
    """Bytes that a step of one sequence takes at least, a lower bound that refuses little that fits.

    `microbatch.estimated` is an upper bound; `estimate.sequence_bytes` counts by shapes.
    The parameters are shared by `sharding_ranks` ranks (FSDP2).

    Weights, gradients and AdamW's two moments, though Muon keeps one of matrices; per layer and token `_MIN_VECTORS`
    vectors of d_model, or one with activation checkpointing; the logits of one chunk; outside CUDA the dense attention
    mask of sequences that are cut from several documents.
    """
    model, seq_len = config.architecture, config.seq_len
    width = 2 if device.type == "cuda" or config.run.precision in ("bf16", "fp16") else 4
    vectors = 1 if getattr(model, "activation_checkpointing", False) else _MIN_VECTORS
    activations = width * vectors * seq_len * model.d_model * model.n_layers
    logits = logits_bytes(seq_len, model.n_vocab)
    # Other packings mix documents too; a lower bound may leave their mask out.
    has_mask = not model.recurrent and config.data.doc_mask and config.data.pack == "concat" and device.type != "cuda"
    is_mixed = has_mask and float(loader.document_block(0).lengths().mean()) < seq_len
    mask = width * seq_len * getattr(model, "attention_span", seq_len) if is_mixed else 0
    return BYTES_PER_PARAMETER * count(model).parameters // sharding_ranks + activations + logits + mask


def _check_memory(config: RunConfig, world: World, memory_of: Callable[[RunConfig], int]) -> int:
    """Bytes that a step takes at least. Raises `OutOfMemory` where it cannot fit into the free memory of the device."""
    needed, free = memory_of(config), free_on(world.device, world.size)
    if needed > free:
        raise OutOfMemory(
            f"a step of one sequence of {config.seq_len:,} ids takes at least {format_bytes(needed)}",
            where=f"{format_bytes(free)} are free on {world.device.type}",
            limit="weights, gradients, optimizer, activations, logits and attention mask",
            fix=_smaller(config, lambda smaller: memory_of(smaller) <= free, free // (2 * BYTES_PER_PARAMETER)),
            option="model.seq_len",
        )
    return needed


def _smaller(config: RunConfig, fits: Callable[[RunConfig], bool], parameters: int) -> Fix:
    """A setting with which a step fits: shorter sequences, where weights alone do not fill the memory, or fewer layers,
    or narrower ones; by halves.
    """
    for name, least in (("seq_len", min(config.seq_len, _LEAST_USUAL_SEQ_LEN)), ("n_layers", 1), ("d_model", 16)):
        value = config.model[name]
        while value // 2 >= least:
            value = min(value // 2, _MAX_USUAL_SEQ_LEN) if name == "seq_len" else value // 2
            if name == "d_model":
                value -= value % (2 * config.model.get("n_heads", 1))
            with suppress(InvalidConfig):
                if fits(config.model_copy(update={"model": {**config.model, name: value}})):
                    return (Argument(f"model.{name}", value), ", or a smaller model")
    return f"a smaller model, of {format_count(parameters)} parameters or less; slm info presets lists some"


def totals_of(counters: Counters, per_step: Mapping[str, float]) -> dict[str, Any]:
    """The counters, with the epochs that their tokens are.

    Steps do not count epochs: those before a branch may have had another batch.
    """
    return {**counters.model_dump(), "epochs": counters.tokens * per_step["epochs"] / per_step["tokens"]}


def begun_with(fingerprint: Mapping[str, Any]) -> Counters:
    """The counters with which a run began: of a branch those of its checkpoint, else zeros."""
    counters = (fingerprint.get("parent") or {}).get("counters")
    return initial_state().counters if counters is None else Counters.model_validate(counters)


def steps_of(
    budget: Budget, per_step: Mapping[str, float], seconds_per_step: float = 0.0, begun: Counters | None = None
) -> int:
    """Steps that a budget pays for, rounded up, at least 1; `seconds_per_step` is needed for `time`.

    `begun`: of a branch, what its checkpoint has spent; the rest pays for the steps after it.
    Raises `InvalidConfig` where a step has none of what the budget counts, and `OptionError` where nothing is left.
    """
    cost = {**per_step, "time": seconds_per_step, "steps": 1.0}[budget.kind]
    if cost <= 0:
        raise InvalidConfig(
            f"a step has no {budget.kind}, so a budget of {budget.amount:g} {budget.kind} never ends",
            where="run.budget",
            fix=(Argument("budget", "tokens=2M"),),
            option="run.budget",
        )
    if begun is None or not begun.step:
        return max(1, math.ceil(budget.amount / cost - 1e-9))
    more = math.ceil((budget.amount - budget.spent(totals_of(begun, per_step))) / cost - 1e-9)
    if more <= 0:
        raise no_step_left(budget, begun.step)
    return begun.step + more


# ---------------------------------------------------------------- fingerprints and new runs


def fingerprint_of(config: RunConfig, data: RunData, sequences_digest: str, device: torch.device) -> dict[str, Any]:
    """What a run is trained on and with."""
    return {
        "version": VERSION,
        # Of the tokenizer alone; this record is the fingerprint of the run.
        "fingerprint": data.vocab.fingerprint,
        "data": data.train.digest,
        "val": None if data.val is None else data.val.digest,
        "plan": sequences_digest,  # which sequences each step takes
        "config": config.digest,
        "torch": str(torch.__version__),
        "device": device.type,
        "threads": torch.get_num_threads(),
        "source": data.name,
    }


def check_fingerprint(run: RunFolder, now: Mapping[str, Any], allowed: Collection[str]) -> list[str]:
    """Raises `Mismatch` for the fields that must not differ from those of the run, with the first; returns notes on
    the others.

    Threads are compared on a CPU alone, where they decide the order of sums.
    """
    recorded, notes = run.fingerprint, list[str]()
    refused: list[tuple[str, str, str]] = []
    restored: dict[str, str | Argument] = dict.fromkeys(("data", "val"), "name the data of the run")
    restored["threads"] = Argument("run.threads", recorded.get("threads"))
    for field, (name, differs) in FINGERPRINT_FIELDS.items():
        if recorded.get(field) == now.get(field) or (field == "threads" and now.get("device") != "cpu"):
            continue
        if name in allowed:
            notes.append(f"continues with another {name} than it began with")
        else:
            refused.append((field, name, differs))
    if refused:
        field, _, differs = refused[0]
        values = [text[:8] + "…" if len(text) == 64 else text for text in (str(now[field]), str(recorded[field]))]
        allowing = " ".join(f"--allow-mismatch {name}" for name in dict.fromkeys(name for _, name, _ in refused))
        raise Mismatch(
            f"{differs} from the run's: {values[0]} now, {values[1]} recorded",
            where=str(run.path / run_entries.FINGERPRINT),
            limit="a run continues exactly as it began",
            fix=(
                restored.get(field, "restore it"),
                OfCommand(f", or {allowing}", f", or slm train {allowing} in a shell"),
            ),
            field=field,
        )
    # Training and validation data have one name.
    return list(dict.fromkeys(notes))


def create_run(run: RunFolder, config: RunConfig, data: RunData, fingerprint: Mapping[str, Any]) -> None:
    """Writes the files of a new run; replaces the run at its path."""
    run.remove()
    text = f"# preset: {config.preset or 'none'}\n".encode() + to_yaml(config.to_dict())
    run.create(text, fingerprint, data.vocab_json, data.tokenizer)


def record_data_paths(run: RunFolder, data: DataConfig) -> str | None:
    """Writes where the data of a run are now, where they were moved, into its `config.yaml`; gives a note of it.

    Scoring and the next resume open them there. The caller has compared their digests with those of the run.
    """
    recorded, now = run.config, _with_absolute_paths(data)
    paths = {"train": now.train, "val": now.val}
    moved = {
        name: path
        for name, path in paths.items()
        if isinstance(path, str) and path not in ("", "-", "auto", "none", recorded["data"][name])
    }
    if not moved or now.is_mixture:
        return None
    first_line, newline, _ = run.read(run_entries.CONFIG).partition(b"\n")
    preset = first_line + newline if first_line.startswith(b"# ") else b""
    _replace_config(run, preset + to_yaml({**recorded, "data": {**recorded["data"], **moved}}))
    return f"{run.path / run_entries.CONFIG} names the data at their new place, {', '.join(moved.values())}"


def _replace_config(run: RunFolder, config: bytes) -> None:
    """Replaces `config.yaml`. Killed meanwhile, the run lacks the sum of that file, and stays a run."""
    check_in_place(run.handle)
    path, name = run.path / checkpoint.SUMS, run_entries.CONFIG
    lines = [f"{digest}  {other}\n" for other, digest in checkpoint.read_sums(run.path).items() if other != name]
    write_file(path, "".join(lines).encode(), run.handle)
    write_file(run.path / name, config, run.handle)
    sums = [f"{hashlib.sha256(config).hexdigest()}  {name}\n", *lines]
    write_file(path, "".join(sums).encode(), run.handle)


def no_step_left(budget: Budget, step: int) -> OptionError:
    """The error for a budget that a checkpoint has spent."""
    return OptionError(
        f"no step is left: step {step:,} has spent the budget {budget.kind}={budget.amount:g}",
        limit="the budget counts from the first step of the old run",
        fix=(Argument("budget", f"steps={2 * step}"), ", or an earlier ", Argument("step")),
        option="budget",
    )
