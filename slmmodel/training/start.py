"""Before the first step: the run folder, its configuration, the fingerprint that a resumed run must match, branches.

Everything that can be refused is refused before anything is written or removed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from slmmodel import checkpoint
from slmmodel import config as configs
from slmmodel.checkpoint import RunFolder, to_json, write_file
from slmmodel.config import Facts, RunConfig, Settings, resolve, settings_of, to_yaml
from slmmodel.data import RunData, open_data
from slmmodel.errors import Mismatch, OptionError, OutputExists

FINGERPRINT_FIELDS = {
    "fingerprint": ("tokenizer", "the tokenizer of the data differs"),
    "data": ("data", "the training data differ"),
    "val": ("data", "the validation data differ"),
    "plan": ("plan", "how the data are cut into sequences differs"),
    "config": ("config", "the configuration differs"),
    "torch": ("torch", "the version of torch differs"),
    "device": ("device", "the type of device differs"),
    "threads": ("threads", "the number of threads differs"),
}
"""Each compared field with the name that `--allow-mismatch` takes and the words of the error.

World size and micro-batch are not compared: they change the order of sums and, with dropout, its random numbers.
"""


def value_of(settings: Settings, name: str, default: str) -> str:
    """One setting as a word."""
    return str(settings[name].value) if name in settings else default


def locate_run(path: Path, *, force: bool, allow_mismatch: Collection[str]) -> RunFolder:
    """The run folder at a path: one to continue, one to replace (`force`), or a new one. Removes nothing.

    Raises `OutputExists`, and what `RunFolder.open` raises.
    """
    run = RunFolder(path)
    if not run.exists() and not run.is_version_1():
        run.refuse_other_content()
        return run
    if force:
        return run
    run = RunFolder.open(path, allow_mismatch=allow_mismatch)
    if run.finished:
        raise OutputExists(
            f"the run {str(path)!r} is finished",
            where=f"{run.result.get('steps', '?')} steps, reason: {run.result.get('reason', '?')}",
            fix="--force to train it again, another -o, or slm resume RUN --step N -o NEW",
            path=str(path),
        )
    return run


def open_run_data(settings: Settings, recorded: Mapping[str, Any] | None) -> RunData:
    """The data named by the settings, else by the recorded configuration."""
    section = {} if recorded is None else recorded["data"]
    train = value_of(settings, "data.train", str(section.get("train", "")))
    if not train:
        raise OptionError("no training data are named", fix="slm train DATA", option="data")
    return open_data(train, value_of(settings, "data.val", str(section.get("val", "auto"))))


def configure(settings: Settings, recorded: Mapping[str, Any] | None, facts: Facts) -> tuple[RunConfig, list[str]]:
    """The configuration of a new run; or the recorded one with the options that may change taken from `settings`.

    Raises `OptionError` for a setting that contradicts the record.
    """
    config, notes = resolve(settings, facts)
    if recorded is None:
        paths = {"train": _absolute(config.data.train), "val": _absolute(config.data.val)}
        return config.model_copy(update={"data": config.data.model_copy(update=paths)}), notes
    wrong = configs.contradictions(settings, config, recorded)
    if wrong:
        name, now, before = wrong[0]
        raise OptionError(
            f"{name}={now} contradicts the run, which has {before}",
            limit=f"{len(wrong)} settings differ: {', '.join(item[0] for item in wrong)}",
            fix="leave it out, name another -o, or --force to train again",
            option=name,
        )
    changed = {name: given for name, given in settings.items() if not configs.affects_weights(name)}
    return resolve({**settings_of(recorded, checkpoint.CONFIG), **changed}, facts)[0], []


def _absolute(data: str) -> str:
    """A path that holds in every folder; words and names that are not paths stay as they are."""
    return str(Path(data).absolute()) if data not in ("", "auto", "none") and Path(data).exists() else data


def fingerprint_of(config: RunConfig, data: RunData, plan_digest: str, device: torch.device) -> dict[str, Any]:
    """What a run is trained on and with."""
    return {
        "version": checkpoint.VERSION,
        "fingerprint": data.vocab.fingerprint,
        "data": data.train.digest,
        "val": None if data.val is None else data.val.digest,
        "plan": plan_digest,
        "config": config.digest,
        "torch": str(torch.__version__),
        "device": device.type,
        "threads": torch.get_num_threads(),
    }


def check_fingerprint(
    recorded: Mapping[str, Any], now: Mapping[str, Any], allowed: Collection[str], *, where: str
) -> list[str]:
    """Raises `Mismatch` for the first field that differs and must not; gives notes on fields that may differ.

    Threads are compared on a CPU alone, where they decide the order of sums.
    """
    notes: list[str] = []
    for field, (name, differs) in FINGERPRINT_FIELDS.items():
        if recorded.get(field) == now.get(field) or (field == "threads" and now.get("device") != "cpu"):
            continue
        if name not in allowed:
            values = [text[:8] + "…" if len(text) == 64 else text for text in (str(now[field]), str(recorded[field]))]
            raise Mismatch(
                f"{differs} from the run's: {values[0]} now, {values[1]} recorded",
                where=where,
                limit="a run continues exactly as it began",
                fix=f"restore it, or --allow-mismatch {name}",
                field=field,
            )
        notes.append(f"continues with another {name} than it began with")
    return notes


def create_run(run: RunFolder, config: RunConfig, data: RunData, fingerprint: Mapping[str, Any]) -> None:
    """Writes the files of a new run; replaces the run at its path."""
    content = {
        checkpoint.CONFIG: f"# preset: {config.preset or 'none'}\n".encode() + to_yaml(config.to_dict()),
        checkpoint.FINGERPRINT: to_json({**fingerprint, "source": data.name}),
    }
    for name, path in ((checkpoint.VOCAB, data.vocab_file), (checkpoint.TOKENIZER, data.tokenizer)):
        if path is not None:
            content[name] = path.read_bytes()
    run.remove()
    RunFolder.create(run.path, content)


def branch(
    source: str | Path,
    step: int | None,
    output: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    force: bool = False,
) -> RunFolder:
    """A new run that begins at a checkpoint of another (the newest with `step` None). Nothing is trained yet.

    `settings` may change options of `optim` and `run`; the number of steps is then planned again.
    Raises `MissingInput`, `OutputExists`, `CorruptFile`, `OptionError`, `InvalidConfig`.
    """
    origin, run = RunFolder.open(source), RunFolder(Path(output))
    folder = origin.checkpoint(step)
    if run.path.resolve() == origin.path.resolve():
        raise OptionError(f"-o {str(output)!r} is the run itself", fix="name a new folder with -o", option="output")
    if not run.exists():
        run.refuse_other_content()
    elif not force:
        raise OutputExists(
            f"output {str(output)!r} exists", fix="--force to replace it, or another -o", path=str(output)
        )
    config = configs.with_changes(origin.config, settings_of(settings or {}))
    state = checkpoint.read_json(folder / checkpoint.TRAIN_STATE)
    parent = {"step": int(state["counters"]["step"]), "weights": checkpoint.weights_digest(folder)}
    fingerprint = {**origin.fingerprint, "parent": parent, "config": configs.digest_of(config)}
    if settings:
        fingerprint["steps"] = None
    content = {
        name: (origin.path / name).read_bytes()
        for name in (checkpoint.VOCAB, checkpoint.TOKENIZER)
        if (origin.path / name).is_file()
    }
    content |= {checkpoint.CONFIG: to_yaml(config), checkpoint.FINGERPRINT: to_json(fingerprint)}
    metrics = (origin.path / checkpoint.METRICS).read_bytes()[: int(state["metrics_length"])]
    files = {item.name: item.read_bytes() for item in folder.iterdir()}
    run.remove()
    copy = run.checkpoints.folder / folder.name
    copy.mkdir(parents=True)
    for name in sorted(files, key=lambda name: name == checkpoint.SUMS):
        write_file(copy / name, files[name])
    write_file(run.path / checkpoint.METRICS, metrics)
    return RunFolder.create(run.path, content, has_checkpoints=True)
