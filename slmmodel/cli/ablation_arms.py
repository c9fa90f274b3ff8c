"""The arms of an ablation: packed folders, or text that is packed with each tokenizer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slmmodel.ablation.arms import Arm
from slmmodel.cli import ablation_files as files
from slmmodel.cli.reading import to_record
from slmmodel.cli.text import no_validation
from slmmodel.data import open_data
from slmmodel.errors import OptionError
from slmtok.cli.progress import Progress

if TYPE_CHECKING:
    from slmtok import Tokenizer
    from slmtok.options import ReadOptions


class TextArm(NamedTuple):
    """An arm that is packed from text."""

    name: str
    tokenizer: Tokenizer
    inference: str = "merges"
    """how the tokenizer cuts text: that of `slmtok.options.PackOptions`"""


def unique_names(names: Sequence[str]) -> list[str]:
    """Each name once: a second `a` is `a-2`."""
    found: list[str] = []
    for name in names:
        number, unique = 2, name
        while unique in found:
            number, unique = number + 1, f"{name}-{number}"
        found.append(unique)
    return found


def open_packed(data: Sequence[str], val: Sequence[str]) -> list[Arm]:
    """Arms of packed folders, with their split `val` or a further folder each. Raises what opening raises."""
    if val and len(val) != len(data):
        raise OptionError(
            f"{len(val)} --val for {len(data)} arms",
            limit="the validation data of each arm, in their order; or none, for the split val of each",
            fix=" ".join(f"--val {path}.val" for path in data),
            option="val",
        )
    names = unique_names([Path(path).resolve().name for path in data])
    return [
        Arm(name, open_data(path, held), path, held)
        for name, path, held in zip(names, data, val or ["auto"] * len(data), strict=True)
    ]


def pack_text(text: Sequence[str], planned: Sequence[TextArm], folder: Path, read: ReadOptions, val: str) -> list[Arm]:
    """Packs a corpus for each arm below `folder`, or finds it packed; gives the arms.

    The same command after a kill continues. Raises what packing raises, and `InvalidConfig` where the corpus has too
    few documents for validation.
    """
    from slmtok.options import PackOptions
    from slmtok.shards import pack

    source = json.dumps([text_record(text, read), val], sort_keys=True)
    arms = []
    for name, tokenizer, inference in planned:
        options = PackOptions(**{**vars(read), "val": val, "inference": inference})
        content = [source, tokenizer.fingerprint, *([] if inference == "merges" else [inference])]
        digest = hashlib.sha256(" ".join(content).encode()).hexdigest()
        place = folder / files.DATA / f"{name}-{digest[:8]}"
        if not (place / "manifest.json").exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            with Progress() as progress:
                progress(f"packing {name}", 0, 0)
                pack(list(text), tokenizer, place, options)
        data = open_data(str(place))
        if data.val is None:
            raise no_validation(", ".join(text), ", --document line, or --val tail:10%")
        if not data.train.block(0).nbytes().any():
            raise no_training_text(text, val)
        arms.append(Arm(name, data, str(place), "auto"))
    return arms


def no_training_text(text: Sequence[str], val: str) -> OptionError:
    """The error for a validation split that leaves no byte of the text for training."""
    fact, fix = f"--val {val} leaves no text for training", "--val tail:10%, or a longer text"
    return OptionError(fact, where=", ".join(text), limit="a byte or more", fix=fix, option="val")


def text_record(text: Sequence[str], read: ReadOptions) -> dict[str, Any]:
    """What identifies a corpus: names, sizes and partial digests of its files, and the options of reading."""
    from slmtok.cli.files import text_files
    from slmtok.corpus import STDIN
    from slmtok.shards.plan import source_names, sources

    found = text_files(list(text), read)
    if STDIN in found:
        raise OptionError(
            "an ablation reads its text several times, and stdin only once", fix="--text FILE", option="text"
        )
    return {"files": sources(found, source_names(found)), **to_record(read)}
