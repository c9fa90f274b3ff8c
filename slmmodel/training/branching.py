"""`branch`: a new run that begins at a checkpoint of another, with other settings of `optim` and `run`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from slmmodel import checkpoint, run_entries
from slmmodel import config as configs
from slmmodel.checkpoint import RunFolder
from slmmodel.config import RunConfig, Settings, settings_of
from slmmodel.data.strategies import strategy_of
from slmmodel.distributed import is_restart, waiting_ranks
from slmmodel.errors import Argument, InvalidConfig, OptionError, OutputExists
from slmmodel.files import make_folder, read_file, resolved, write_file
from slmmodel.folder_lock import check_regular
from slmmodel.run_files import first_data
from slmmodel.training import setup
from slmmodel.yaml_files import to_yaml


def branch(
    source: str | Path,
    step: int | None,
    output: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    data: str | None = None,
    force: bool = False,
) -> RunFolder:
    """A new run that begins at a checkpoint of another (the newest with `step` None). Nothing is trained yet.

    `settings` may change options of `optim` and `run`; the number of steps is then planned again. `data`: where the
    training data of the run are now, if they were moved. Of the ranks of torchrun, rank 0 makes it and the others wait;
    after a restart `force` does not replace what it has begun.
    Raises `MissingInput`, `OutputExists`, `CorruptFile`, `OptionError`, `InvalidConfig`.
    """
    parent, run = RunFolder.open(source), setup.locate_run(Path(output), force=True)
    changes = settings_of(settings or {})
    with waiting_ranks() as world, setup.exclusive(run.path, world) as run.handle:
        # Each rank checks, so that all raise the same error; rank 0 alone writes, when all have checked.
        plan = _plan(parent, step, run, changes, data)
        is_restarted = bool(world.reduce("max", [is_restart()])[0])
        if run.exists() and (is_restarted or not force):
            # Other data than the parent's are only continued where they are named; training compares them.
            same = ("config", *(["data"] if data is None else []))
            is_begun = _start_of(run.fingerprint) == _start_of(plan.fingerprint)
            if is_begun and all(run.fingerprint.get(name) == plan.fingerprint.get(name) for name in same):
                # An interrupted branch of the same checkpoint: it is continued, also with `force` after a restart.
                return run
            if not force:
                fix = (Argument("force", True), " to replace it, or another ", Argument("output"))
                raise OutputExists(f"output {str(output)!r} exists", fix=fix, path=str(output))
        world.barrier()
        if world.is_main:
            _write(parent, run, plan)
        world.barrier()
        setup.wait_until_visible(run, world)
    return run


class _Plan(NamedTuple):
    """What a new run begins with."""

    checkpoint: Path
    config: RunConfig
    state: dict[str, Any]
    fingerprint: dict[str, Any]
    has_changes: bool


def _plan(parent: RunFolder, step: int | None, run: RunFolder, changes: Settings, data: str | None) -> _Plan:
    """The new run at the path of `run`. Writes nothing."""
    folder = parent.checkpoint(step)
    for stem in (run_entries.MODEL, run_entries.OPTIMIZER):
        # Refused before anything is written, with another step.
        checkpoint.read_tensors(folder, stem)
    if resolved(run.path) == resolved(parent.path):
        raise OptionError(f"-o {str(run.path)!r} is the run itself", fix="name a new folder with -o", option="output")
    config = configs.with_changes(parent.config, changes)
    _check_state(parent, config, changes)
    if data is not None:
        config = config.model_copy(update={"data": config.data.model_copy(update={"train": setup.absolute(data)})})
    state = checkpoint.read_train_state(folder)
    budget, counters, steps = config.run.budget, state["counters"], parent.fingerprint.get("steps")
    if budget.is_spent(counters) or (not changes and steps is not None and counters["step"] >= steps):
        # The new run would end before its first step.
        raise setup.no_step_left(budget, counters["step"])
    weights = checkpoint.weights_digest(folder)
    if changes:
        state["cursor"] = _cursor_of_batches(state["cursor"], parent.config["run"]["batch_tokens"], config)
    from_checkpoint = {"step": int(counters["step"]), "weights": weights, "counters": counters}
    from_checkpoint |= {"cursor": state["cursor"], "positions": state["positions"], "plan": _plan_before(parent)}
    from_checkpoint |= {"data": first_data(parent.fingerprint), "val": parent.fingerprint.get("val")}
    from_checkpoint |= {"run": _name_of(parent), "steps": steps}
    from_checkpoint |= {"settings": _changed(parent.config, config), "parent": parent.fingerprint.get("parent")}
    fingerprint = {**parent.fingerprint, "parent": from_checkpoint, "config": config.digest}
    if changes:
        fingerprint["steps"] = None
    check_regular(parent.path / run_entries.METRICS)
    return _Plan(folder, config, state, fingerprint, bool(changes))


def _write(parent: RunFolder, run: RunFolder, plan: _Plan) -> None:
    """Writes the new run, in the place of what was there."""
    folder, state = plan.checkpoint, plan.state
    vocab = parent.read(run_entries.VOCAB)
    tokenizer = None if parent.tokenizer is None else parent.read(run_entries.TOKENIZER)
    lines = parent.path / run_entries.METRICS
    # Training says what is missing of them.
    metrics = read_file(lines, int(state["metrics_length"])) if lines.exists() else b""
    run.remove()
    write_file(run.path / run_entries.FINGERPRINT, checkpoint.to_json(plan.fingerprint), run.handle)
    copy = run.checkpoints.folder / folder.name
    make_folder(copy, run.handle)
    for name in (*checkpoint.read_sums(folder), checkpoint.SUMS):
        write_file(copy / name, read_file(folder / name), run.handle)
    # They may have changed since `checkpoint` verified them.
    checkpoint.verify_sums(copy)
    if plan.has_changes:
        # The new number of steps replaces that of a time budget which the parent planned again.
        state |= {"replanned": False, "decay_steps": None, "run": checkpoint.run_digest(plan.fingerprint)}
        write_file(copy / run_entries.TRAIN_STATE, checkpoint.to_json(state), run.handle)
        write_file(copy / checkpoint.SUMS, checkpoint.sums_of(copy, checkpoint.read_sums(copy)), run.handle)
    write_file(run.path / run_entries.METRICS, metrics, run.handle)
    run.create(to_yaml(plan.config.to_dict()), plan.fingerprint, vocab, tokenizer)


def _check_state(parent: RunFolder, config: RunConfig, changes: Settings) -> None:
    """Raises `InvalidConfig` for a setting with which what a checkpoint holds cannot be loaded, and `UnknownName`."""
    before = RunConfig.model_validate(parent.config)
    now, recorded = config.run, before.run
    types = "fp64" if recorded.precision == "fp64" else "auto, fp32, bf16 and fp16"
    # What must stay as it is, then and now; what the checkpoints hold; and the values that fit to it.
    held: dict[str, tuple[object, object, str, object]] = {
        "run.precision": (
            *(now.precision == "fp64", recorded.precision == "fp64"),
            *(f"weights of {recorded.precision}", types),
        ),
        "optim.name": (
            *(config.optim.name, before.optim.name),
            *(f"the state of {before.optim.name}", before.optim.name),
        ),
    }
    if strategy_of(config.data.pack).carries_state and config.architecture.carries_state:
        content = f"the state that {before.batch_size} sequences carry (data.pack {config.data.pack})"
        held["run.batch_tokens"] = (now.batch_tokens, recorded.batch_tokens, content, recorded.batch_tokens)
    for name, (value, before_value, content, fitting) in held.items():
        if value != before_value:
            given = changes[name]
            raise InvalidConfig(
                f"{name} {given.value} cannot change in a run that continues: its checkpoints hold {content}",
                where=given.where,
                limit=f"{name} {fitting}; other settings of optim and run may change",
                fix=f"leave it out, or train a new run: slm train DATA --set {name}={given.value}",
                option=name,
            )


def _plan_before(parent: RunFolder) -> str | None:
    """The plan of all steps of a run; None for a branch whose own steps have another than those before."""
    plan, before = parent.fingerprint.get("plan"), parent.fingerprint.get("parent")
    return plan if before is None or before.get("plan") == plan else None


def _start_of(fingerprint: Mapping[str, Any]) -> dict[str, Any]:
    """What a branch begins with, without what only tells of its run, whose folder may have another name by now."""
    parent = fingerprint.get("parent") or {}
    return {name: value for name, value in parent.items() if name not in ("run", "steps", "settings", "parent")}


def _name_of(run: RunFolder) -> str:
    """The name of its folder, as text that JSON and the card can hold."""
    return "".join(each if each.isprintable() else "?" for each in resolved(run.path).name)


def _changed(before: Mapping[str, Any], config: RunConfig) -> dict[str, Any]:
    """The options of `before` that decide the weights and that `config` changes or lacks."""
    old, new = configs.weight_options(before), configs.weight_options(config.to_dict())
    return {
        name: value for name, value in old.items() if name.startswith(("optim.", "run.")) and value != new.get(name)
    }


def _cursor_of_batches(cursor: list[int], batch_tokens: int, config: RunConfig) -> list[int]:
    """A cursor with `taken` in batches of `config`, where it counts batches of `batch_tokens` (`forms_batches`)."""
    epoch, block, taken = cursor
    is_counted = strategy_of(config.data.pack).forms_batches
    return [epoch, block, taken * batch_tokens // config.run.batch_tokens if is_counted else taken]
