"""Which entries of a run folder are ours (docs/formats/bundle.md): what `--force` and `run.keep` may remove.

Other files, and folders that hold any, stay. Symbolic links in a place of ours are entries like files, never followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from slmmodel.errors import suggestion
from slmmodel.files import PART, is_folder, read_file
from slmmodel.folder_lock import LOCK
from slmmodel.sizes import parse_count
from slmmodel.sums import SUMS

CONFIG, VOCAB, TOKENIZER, FINGERPRINT = "config.yaml", "vocab.json", "tok.json", "fingerprint.json"
METRICS, RESULT, CARD = "metrics.jsonl", "result.json", "README.md"
MODEL, OPTIMIZER, RECURRENT, TRAIN_STATE = "model", "optim", "recurrent", "train_state.json"
LATEST, BEST = "latest", "best"
BAD = "-bad"
"""Ends the name of a checkpoint of losses that were not finite, from which nothing continues."""
EVALUATIONS = "eval"
"""The folder of certificates and other results of evaluations, the only files of a run that may be replaced."""
CHECKPOINTS = "checkpoints"
"""The folder of a run in which they are."""
SMALL = (VOCAB, TOKENIZER, FINGERPRINT, CONFIG)
FILES = (*SMALL, METRICS, RESULT, CARD, SUMS, "heartbeat.json")
UNFINISHED = {*SMALL, METRICS, SUMS, CHECKPOINTS}
"""What a folder holds that is not yet a run, or no longer one."""
_LAST = {**dict.fromkeys(UNFINISHED, 1), FINGERPRINT: 2, SUMS: 3}
_TENSORS = r"(-\d{5}-of-\d{5})?\.safetensors(\.index\.json)?"
MODEL_FILE = re.compile(MODEL + _TENSORS)
_CHECKPOINT_FILE = re.compile(rf"({MODEL}|{OPTIMIZER}|{RECURRENT}){_TENSORS}")
LEFTOVER = re.compile(rf"step-[0-9]+({BAD})?(\.old)?\.tmp")
"""A checkpoint that is being written or removed."""
STEP = re.compile(rf"step-[0-9]+({BAD})?")
_HEAD_BYTES = 64
_RESULT = re.compile(rb'\{\s*"kind":\s*"(certificate|passkey|probe|prompts)"')
"""How the envelope of a result of an evaluation begins."""
_EVENTS, _WANDB = re.compile(r"events\.out\.tfevents\..*"), re.compile(r"id|latest-run|debug.*\.log")
_WANDB_RUN = re.compile(r"(offline-)?run-.*")


def step_named(word: str, steps: Sequence[int], best: int | None) -> int | None:
    """Of saved steps the one that a word names: `best`, the nearest to a number or to that of a folder, else the last.

    None without any.
    """
    last = re.split(r"[-_/]", word.rstrip("/"))[-1]
    if last == BEST and best is not None:
        return best
    number = parse_count(last)
    return max(steps, default=None) if number is None else min(steps, key=lambda each: abs(each - number), default=None)


def is_checkpoint_file(name: str) -> bool:
    """Whether a checkpoint has files of this name."""
    return name in (SUMS, TRAIN_STATE) or bool(_CHECKPOINT_FILE.fullmatch(name) or PART.fullmatch(name))


def own_entries(run: Path) -> list[Path]:
    """The entries of ours, folders before their content: the result first, fingerprint and sums last."""
    own = [path for path in run.iterdir() if path.name in FILES or _is_part(path.name) or path.name in _FOLDERS]
    own += [path for path in run.iterdir() if MODEL_FILE.fullmatch(path.name)]
    own.sort(key=lambda path: (-1 if path.name == RESULT else _LAST.get(path.name, 0), path.name))
    return [each for path in own for each in _with_content(path)]


def other_entries(run: Path) -> list[Path]:
    """What lies in a folder, its subfolders included, and is not of a run."""
    own = {run / LOCK, *own_entries(run)} if run.is_dir() else set()
    return [path for path in _everything(run) if path not in own]


def _is_part(name: str) -> bool:
    return PART.fullmatch(name) is not None


def _with_content(path: Path) -> Iterator[Path]:
    yield path
    if is_folder(path) and (content := _everything if _is_part(path.name) else _FOLDERS.get(path.name)):
        yield from content(path)


def _everything(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        yield from (Path(parent) / name for name in (*folders, *sorted(names)))


def _checkpoints(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if STEP.fullmatch(path.name) or LEFTOVER.fullmatch(path.name):
            yield path
            if is_folder(path):
                yield from (each for each in sorted(path.iterdir()) if is_checkpoint_file(each.name))
        elif path.name in (LATEST, BEST) or _is_part(path.name):
            yield path


def _evaluations(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.iterdir()) if _is_part(path.name) or _is_result(path))


def _is_result(path: Path) -> bool:
    """Whether a file is a result that a command wrote, or a link in its place; a damaged one stays."""
    if path.suffix != ".json" or is_folder(path):
        return False
    return path.is_symlink() or (path.is_file() and _RESULT.match(read_file(path, _HEAD_BYTES)) is not None)


def _tensorboard(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.iterdir()) if _EVENTS.fullmatch(path.name))


def _wandb(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if _WANDB_RUN.fullmatch(path.name) and is_folder(path):
            yield path
            yield from _everything(path)
        elif _WANDB.fullmatch(path.name):
            yield path


_FOLDERS: dict[str, Callable[[Path], Iterator[Path]]] = {
    CHECKPOINTS: _checkpoints,
    EVALUATIONS: _evaluations,
    "tensorboard": _tensorboard,
    "wandb": _wandb,
}
"""What commands write into a run folder, beside files, and their content of ours."""
FOLDERS = tuple(_FOLDERS)


def run_above(path: str) -> str | None:
    """The run of this relative path from a folder above the working folder; None where there is none."""
    places = [] if os.path.isabs(path) else [Path(*[".."] * n_up, path) for n_up in range(1, _MAX_UP + 1)]  # noqa: PTH117
    # False also for names that the system refuses.
    found = (str(each) for each in places if all(os.path.isfile(each / name) for name in (SUMS, CONFIG)))  # noqa: PTH113
    return next(found, None)


_MAX_UP = 3
"""Folders above the working folder in which a run is looked for."""


def run_meant(path: str, runs: Iterable[str]) -> str | None:
    """The one of some runs that a path misspells, or the run that it is above the working folder; else None."""
    return suggestion(path, runs, cutoff=0.6) or run_above(path)
