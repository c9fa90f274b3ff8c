"""`run`: from settings to a trained bundle. It begins a run, continues an unfinished one, and refuses a finished one.

The order is: everything that can be refused is refused before anything is written; the bundle exists before the first
step; each saved state is whole; the result is written last. So the same command, given again after any interruption,
ends in the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from slmmodel.bundle import Bundle, files
from slmmodel.bundle.bundle import CONFIG, LOCK, METRICS, TOKENIZER, VOCAB, WEIGHTS
from slmmodel.errors import FinishedRun, InvalidOption, OutputExists
from slmmodel.training import config as configs
from slmmodel.training import readers
from slmmodel.training.config import Facts
from slmmodel.training.data import Data, open_data
from slmmodel.training.readers import Flat, Given
from slmmodel.training.result import RunResult
from slmmodel.training.session import Session
from slmmodel.training.settings import Config, RunSettings, known, semantic
from slmmodel.training.trainer import TRAIN_STATE

Report = Callable[[str, int, int, str], None]
_CARRIED = ("device", "threads", "micro_batch", "compile", "track", "keep", "keep_every", "log_every")


def run(
    settings: Mapping[str, Any],
    *,
    output: str | Path,
    data: Data | None = None,
    force: bool = False,
    allow_mismatch: Collection[str] = (),
    report: Report | None = None,
    tell: Callable[[str], None] | None = None,
) -> RunResult:
    """Trains, and gives what it came to; also after SIGTERM or SIGINT, with its state saved.

    `settings`: the sections of a configuration, nested or dotted, or settings as `readers` gives them. `data`: sources
    made elsewhere; otherwise `data.train` is opened. `report` takes (stage, done, total, text). `tell` takes remarks.
    Raises any error of this package; what can be known before the first step is.
    """
    given = _given(settings)
    with Session(_text(given, "run.device", "auto"), int(_text(given, "run.threads", "0"))) as session:
        bundle = _place(Path(output), force=force, allow=allow_mismatch)
        session.ranks.wait()
        recorded = bundle.config if bundle.exists() and not force else None
        data = _open(given, recorded, data)
        config, notes = _configured(given, recorded, Facts(data.vocab, data.tokens, session.device.type))
        if session.ranks.first and tell is not None:
            for note in notes:
                tell(note)
        return session.train(bundle, config, data, allow_mismatch, report, tell, tuple(notes), replace=force)


def plan(settings: Mapping[str, Any], *, data: Data | None = None) -> dict[str, Any]:
    """What `run` would do, as numbers; nothing is written, and no model is built."""
    given = _given(settings)
    with Session(_text(given, "run.device", "auto"), int(_text(given, "run.threads", "0"))) as session:
        data = _open(given, None, data)
        config, notes = _configured(given, None, Facts(data.vocab, data.tokens, session.device.type))
        return {**session.planned(config, data), "notes": notes}


def branch(
    source: str | Path,
    step: int | None,
    output: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Bundle:
    """A new run that begins at a saved state of another (its newest where `step` is None), with some settings changed.

    Those of `optim` and `run` may be; the number of steps is then planned anew. Nothing is trained yet.
    Raises `MissingStep`, `OutputExists`, `CorruptBundle`, `InvalidOption`.
    """
    origin = Bundle.open(source)
    number = origin.steps.newest() if step is None else step
    origin.weights(-1 if number is None else number)
    assert number is not None
    target = Path(output)
    if target.resolve() == origin.path.resolve():
        raise InvalidOption(f"-o {str(output)!r} is the run itself", fix="name a new folder with -o", option="output")
    replaced = Bundle(target).exists()
    if replaced and not force:
        raise OutputExists(
            f"output {str(output)!r} exists", fix="--force to replace it, or another -o", path=str(output)
        )
    if not replaced:
        Bundle(target).refuse_foreign()
    folder = origin.steps.path(number)
    state = files.read_json(folder / TRAIN_STATE)
    table = _changed(origin.config, _given(settings or {}))
    content = {name: (origin.path / name).read_bytes() for name in (VOCAB, TOKENIZER) if (origin.path / name).is_file()}
    content[CONFIG] = configs.table_to_yaml(table)
    parent = {"step": number, "weights": files.read_sums(folder)[WEIGHTS]}
    lock = {**origin.lock, "parent": parent, "config": configs.digest(table)}
    if settings:
        lock["steps"] = None
    saved = {item.name: item.read_bytes() for item in folder.iterdir() if item.name != files.SUMS}
    metrics = (origin.path / METRICS).read_bytes()[: int(state["metrics_length"])]
    bundle = Bundle(target)
    if replaced:
        bundle.remove()
    target.mkdir(parents=True, exist_ok=True)
    bundle.steps.save(number, saved)
    files.write(target / METRICS, metrics)
    # Last: with its sums the folder is a run.
    return Bundle.create(target, {**content, LOCK: files.to_json(lock)}, begun=True)


def _changed(table: dict[str, Any], given: Flat) -> dict[str, Any]:
    """A recorded configuration with some settings of `optim` and `run` changed."""
    kinds = {name: kind for name, kind in known().items() if name.startswith(("optim.", "run."))}
    readers.refuse_unknown(given, list(kinds))
    for name, value in readers.read(given, kinds).items():
        *path, last = name.split(".")
        section = table
        for part in path:
            section = section[part]
        if path[-1] == "budget":
            section.clear()
        section[last] = list(value) if isinstance(value, tuple) else value
    return table


def _given(settings: Mapping[str, Any]) -> Flat:
    if all(isinstance(value, Given) for value in settings.values()):
        return dict(settings)
    return configs.flatten(settings)


def _text(given: Flat, name: str, default: str) -> str:
    return str(given[name].value) if name in given else default


def _place(path: Path, *, force: bool, allow: Collection[str]) -> Bundle:
    """The bundle at a path: one to continue, one to replace (with `force`), or one that is still to be made.

    Nothing is removed here: a run is replaced only once all that can be refused was not.
    Raises `FinishedRun`, and `OutputExists` where something else is there.
    """
    bundle = Bundle(path)
    if bundle.exists():
        if force:
            return bundle
        bundle = Bundle.open(path, allow_mismatch=allow)
        if bundle.finished:
            raise FinishedRun(
                f"the run {str(path)!r} is finished",
                where=f"{bundle.result.get('steps', '?')} steps, ended because: {bundle.result.get('reason', '?')}",
                fix="--force to train it anew, another -o, or slm resume RUN --from step-N -o NEW",
                path=str(path),
            )
        return bundle
    bundle.refuse_foreign()
    return bundle


def _open(given: Flat, recorded: Mapping[str, Any] | None, data: Data | None) -> Data:
    if data is not None:
        return data
    section = {} if recorded is None else recorded["data"]
    train = _text(given, "data.train", str(section.get("train", "")))
    if not train:
        raise InvalidOption("no data to train on", fix="slm train DATA", option="data")
    return open_data(train, _text(given, "data.val", str(section.get("val", "auto"))))


def _anywhere(data: str) -> str:
    """A path that holds in every folder; words and names that are no path stay as they are."""
    return str(Path(data).absolute()) if data not in ("", "auto", "none") and Path(data).exists() else data


def _configured(given: Flat, recorded: Mapping[str, Any] | None, facts: Facts) -> tuple[Config, list[str]]:
    """The configuration of a new run; or the recorded one, with what may differ taken from `given`.

    Raises `InvalidOption` for what was given and contradicts the record.
    """
    if recorded is None:
        config, notes = configs.resolve(given, facts)
        places = replace(config.data, train=_anywhere(config.data.train), val=_anywhere(config.data.val))
        return replace(config, data=places), notes
    fresh, _ = configs.resolve(given, facts)
    wrong = configs.contradictions(given, fresh, recorded)
    if wrong:
        name, now, before = wrong[0]
        raise InvalidOption(
            f"{name}={now} contradicts the run, which has {before}",
            limit=f"{len(wrong)} settings differ: {', '.join(item[0] for item in wrong)}",
            fix="leave it out, name another -o, or --force to train anew",
            option=name,
        )
    config = configs.from_dict(recorded, facts)
    named = {name.removeprefix("run.") for name in given if name.startswith("run.") and not semantic(name)}
    changes = {name: getattr(fresh.run, name) for name in named | set(_CARRIED)}
    kept: RunSettings = replace(config.run, **{name: value for name, value in changes.items() if name in named})
    return replace(config, run=kept), []


def forget(path: str | Path) -> None:
    """Removes a run that never began its first step, so that a refusal leaves nothing behind."""
    bundle = Bundle(Path(path))
    with suppress(OSError):
        if bundle.path.is_dir() and bundle.begun() and not bundle.steps.list():
            bundle.remove()
