"""The data that a run was trained on, where its configuration names a mixture. A run on one path needs no slmtok."""

from __future__ import annotations

import shlex
from contextlib import suppress
from itertools import islice
from pathlib import Path

from slmmodel.checkpoint import RunFolder
from slmmodel.cli import reading
from slmmodel.cli.text import is_text
from slmmodel.config import RunConfig
from slmmodel.data import RunData
from slmmodel.data.source import TokenSource, check_tokenizer
from slmmodel.errors import MissingInput, SlmmodelError


def open_mixture_of(run: RunFolder) -> RunData | None:
    """The data of a run with a mixture, as its configuration names them; None for one path."""
    found = RunConfig.model_validate(run.config)
    if not found.data.is_mixture:
        return None
    from slmmodel.cli.sources import open_mixture, with_passkeys

    return with_passkeys(open_mixture(found.data, run.tokenizer, reading.recorded(run)), found)


def missing_data(run: RunFolder) -> list[str]:
    """The paths of training data that a run names and that are not there; globs are not looked at."""
    named = run.config["data"]["train"]
    sources = named if isinstance(named, list) else [named]
    paths = [each.get("path") if isinstance(each, dict) else each for each in sources]
    return [path for path in paths if isinstance(path, str) and not Path(path).exists() and not is_text(path)]


def data_meant(run: RunFolder, path: str) -> str:
    """The packed data of a run as a word of a command: under another name than `path`; else DATA."""
    found = data_of(run, path)
    return "DATA" if found is None else shlex.quote(found)


def data_of(run: RunFolder, path: str) -> str | None:
    """The packed data of a run, in the working folder or beside `path`, the name that it recorded; else None."""
    from slmmodel.data.opening import open_source

    recorded = run.fingerprint.get("data")
    for place in dict.fromkeys((Path(), Path(path).parent)):
        with suppress(OSError):
            folders = (each for each in islice(place.iterdir(), _MAX_SEEN) if (each / "manifest.json").is_file())
            for folder in sorted(folders):
                with suppress(SlmmodelError):
                    if open_source(folder).digest == recorded:
                        return str(folder)
    return None


_MAX_SEEN = 1000
"""Files of a folder that are looked at for data."""


def split_of_mixture(run: RunFolder, data: RunData, split: str) -> TokenSource:
    """The split `train` or `val` of the mixture of a run. Raises `MissingInput`."""
    source = {"train": data.train, "val": data.val}.get(split)
    if source is None:
        raise MissingInput(
            f"the data of the run have no split {split!r}", where=str(run.path), limit="train, val", fix="--split train"
        )
    return source


def steps_trained(run: RunFolder, step: int | None = None) -> int:
    """The steps of a run, or of its checkpoint `step`. Raises `MissingInput`."""
    return int(run.result["step"]) if step is None and run.finished else run.step_of(step)


def begun_stages(data: RunData, last: int) -> list[tuple[int, TokenSource]]:
    """The first step and the source of each stage that a run began in `last` steps; one where it has no stages."""
    return [(stage.from_step, stage.source) for stage in data.stages if stage.from_step <= last] or [(1, data.train)]


def training_data(run: RunFolder, split: str = "train", tokenizer: str | Path | None = None) -> RunData:
    """A split of the data of a run, read as training read it. `tokenizer`: where the run has none.

    Raises what opening raises, and `Mismatch` for data that were made again with another tokenizer.
    """
    data = open_mixture_of(run)
    if data is None:
        from slmmodel.cli.open_by_path import open_ids_or_text

        path, file = str(run.config["data"]["train"]), tokenizer or run.tokenizer
        options = {"read": reading.recorded(run), "val": run.config["data"].get("val", "auto")}
        data = RunData(open_ids_or_text(path, split, run.vocab, file, **options), None, run.vocab)
    elif split != "train":
        data = RunData(split_of_mixture(run, data, split), None, run.vocab)
    check_tokenizer(data.train, run.vocab, run.path, run.tokenizer)
    note_changes(run, data.train, split)
    return data


def note_changes(run: RunFolder, source: TokenSource, split: str | None) -> bool:
    """Whether the data of a run have changed since it was trained, by their digest; a note says so."""
    from slmmodel.cli.open_by_path import note_of_command

    path, recorded = run.config["data"]["train"], run.fingerprint.get("data" if split == "train" else "val")
    if not isinstance(path, str) or recorded in (None, source.digest):
        return False
    note_of_command(f"the data of the run have changed since training: {path}")
    return True
