"""Before the first step: the run folder, its configuration, the fingerprint that a resumed run must match, branches.

Everything that can be refused is refused before anything is written or removed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from slmmodel.checkpoint import (
    CONFIG,
    FINGERPRINT,
    METRICS,
    SUMS,
    TOKENIZER,
    TRAIN_STATE,
    VERSION,
    VOCAB,
    RunFolder,
    read_json,
    to_json,
    weights_digest,
    write_file,
)
from slmmodel.config import (
    Facts,
    RunConfig,
    Settings,
    affects_weights,
    contradictions,
    digest_of,
    resolve,
    settings_of,
    to_yaml,
    with_changes,
)
from slmmodel.data import RunData, open_data
from slmmodel.errors import FinishedRun, OptionError, OutputExists, RunMismatch

FINGERPRINT_FIELDS = {
    "fingerprint": ("tokenizer", "the tokenizer of the data"),
    "data": ("data", "the training data"),
    "val": ("data", "the validation data"),
    "plan": ("plan", "how the data are cut into sequences"),
    "config": ("config", "the configuration"),
    "torch": ("torch", "the version of torch"),
    "device": ("device", "the type of device"),
    "threads": ("threads", "the number of threads"),
}
"""Each compared field with the name that `--allow-mismatch` takes and its description.

World size and micro-batch are not compared: they change the order of sums and nothing else.
"""


def value_of(settings: Settings, name: str, default: str) -> str:
    """One setting as a word."""
    return str(settings[name].value) if name in settings else default


def locate_run(path: Path, *, force: bool, allow_mismatch: Collection[str]) -> RunFolder:
    """The run folder at a path: one to continue, one to replace (`force`), or a new one. Removes nothing.

    Raises `FinishedRun`, `OutputExists`, and what `RunFolder.open` raises.
    """
    run = RunFolder(path)
    if force and (run.exists() or (path / "data.lock").is_file()):
        return run
    run.check_version()
    if not run.exists():
        run.refuse_other_content()
        return run
    run = RunFolder.open(path, allow_mismatch=allow_mismatch)
    if run.finished:
        raise FinishedRun(
            f"the run {str(path)!r} is finished",
            where=f"{run.result.get('steps', '?')} steps, reason: {run.result.get('reason', '?')}",
            fix="--force to train it again, another -o, or slm resume RUN --from step-N -o NEW",
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
    fresh, notes = resolve(settings, facts)
    if recorded is None:
        data = fresh.data.replace(train=_absolute(fresh.data.train), val=_absolute(fresh.data.val))
        return fresh.replace(data=data), notes
    wrong = contradictions(settings, fresh, recorded)
    if wrong:
        name, now, before = wrong[0]
        raise OptionError(
            f"{name}={now} contradicts the run, which has {before}",
            limit=f"{len(wrong)} settings differ: {', '.join(item[0] for item in wrong)}",
            fix="leave it out, name another -o, or --force to train again",
            option=name,
        )
    config = resolve(settings_of(recorded, CONFIG), facts)[0]
    changed = {
        name.removeprefix("run."): getattr(fresh.run, name.removeprefix("run."))
        for name in settings
        if name.startswith("run.") and not affects_weights(name)
    }
    return config.replace(run=config.run.replace(**changed)), []


def _absolute(data: str) -> str:
    """A path that holds in every folder; words and names that are not paths stay as they are."""
    return str(Path(data).absolute()) if data not in ("", "auto", "none") and Path(data).exists() else data


def fingerprint_of(config: RunConfig, data: RunData, plan_digest: str, device: torch.device) -> dict[str, Any]:
    """What a run is trained on and with."""
    return {
        "version": VERSION,
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
    """Raises `RunMismatch` for the first field that differs and is not allowed to; gives the names of those that are.

    Threads are compared on a CPU alone, where they decide the order of sums.
    """
    differing: list[str] = []
    for field, (name, description) in FINGERPRINT_FIELDS.items():
        if recorded.get(field) == now.get(field) or (field == "threads" and now.get("device") != "cpu"):
            continue
        if name not in allowed:
            raise RunMismatch(
                f"{description} differ{'' if description.endswith('data') else 's'} from the run's: "
                f"{_short(now.get(field))} now, {_short(recorded.get(field))} recorded",
                where=where,
                limit="a run continues exactly as it began",
                fix=f"restore it, or --allow-mismatch {name}",
                field=field,
            )
        differing.append(name)
    return differing


def _short(value: Any) -> str:
    text = str(value)
    return text[:8] + "…" if len(text) == 64 else text


def create_run(run: RunFolder, config: RunConfig, data: RunData, fingerprint: Mapping[str, Any]) -> None:
    """Writes the files of a new run; replaces what is at its path."""
    content = {
        CONFIG: f"# preset: {config.preset or 'none'}\n".encode() + to_yaml(config.to_dict()),
        FINGERPRINT: to_json({**fingerprint, "source": data.name}),
    }
    for name, path in ((VOCAB, data.vocab_file), (TOKENIZER, data.tokenizer)):
        if path is not None:
            content[name] = path.read_bytes()
    if run.exists() or (run.path / "data.lock").is_file():
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
    Raises `MissingCheckpoint`, `OutputExists`, `CorruptRun`, `OptionError`, `InvalidConfig`.
    """
    origin = RunFolder.open(source)
    number = origin.checkpoints.newest() if step is None else step
    folder = origin.weights(-1 if number is None else number)
    assert number is not None
    target, run = Path(output), RunFolder(Path(output))
    if target.resolve() == origin.path.resolve():
        raise OptionError(f"-o {str(output)!r} is the run itself", fix="name a new folder with -o", option="output")
    replaced = run.exists()
    if replaced and not force:
        raise OutputExists(
            f"output {str(output)!r} exists", fix="--force to replace it, or another -o", path=str(output)
        )
    if not replaced:
        run.refuse_other_content()
    config = with_changes(origin.config, settings_of(settings or {}))
    parent = {"step": number, "weights": weights_digest(folder)}
    fingerprint = {**origin.fingerprint, "parent": parent, "config": digest_of(config)}
    if settings:
        fingerprint["steps"] = None
    content = {name: (origin.path / name).read_bytes() for name in (VOCAB, TOKENIZER) if (origin.path / name).is_file()}
    content |= {CONFIG: to_yaml(config), FINGERPRINT: to_json(fingerprint)}
    metrics = (origin.path / METRICS).read_bytes()[: int(read_json(folder / TRAIN_STATE)["metrics_length"])]
    files = {item.name: item.read_bytes() for item in folder.iterdir()}
    if replaced:
        run.remove()
    copy = run.checkpoints.path(number)
    copy.mkdir(parents=True)
    for name in sorted(files, key=lambda name: name == SUMS):
        write_file(copy / name, files[name])
    write_file(target / METRICS, metrics)
    return RunFolder.create(target, content, has_checkpoints=True)
