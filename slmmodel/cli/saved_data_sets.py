"""Folders of `datasets.save_to_disk` that hold ids and no text, which are refused before anything is encoded."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slmmodel.errors import UnsupportedFormat
from slmmodel.json_files import FaultError, read_bounded

_INFO = "dataset_info.json"
_MAX_INFO_BYTES = 1 << 20


def refuse_ids(path: str) -> None:
    """Raises `UnsupportedFormat` for a saved data set with a column of lists of integers and no column of text.

    Its fix writes the ids as the file that training and scoring take in this folder.
    """
    folder = Path(path.removeprefix("hf:"))
    part = next((each for each in (folder, folder / "train") if (each / _INFO).is_file()), None)
    features = {} if part is None else _features(part / _INFO)
    columns = [name for name, feature in features.items() if _is_list_of_integers(feature)]
    if not columns or {"string", "large_string", "binary", "large_binary"} & {*_types(features)}:
        return
    column = "input_ids" if "input_ids" in columns else columns[0]
    target, saved, name = (json.dumps(str(each), ensure_ascii=False) for each in (folder / "train.npy", part, column))
    code = (
        f"import datasets, numpy; numpy.save({target}, numpy.concatenate([*datasets.load_from_disk({saved})[{name}]]))"
    )
    vocab = f"slmtok vocab TOK --metadata -o {shlex.quote(str(folder / 'vocab.json'))}"
    raise UnsupportedFormat(
        f"{path!r} is a data set of ids, not of text: its column {column!r} has lists of integers",
        where=str(folder),
        limit=f"text; or {folder / 'train.npy'}, ids of which the closing special ends each document",
        fix=f"name the text that the ids were made of; or python -c {shlex.quote(code)} && {vocab}, "
        f"with the tokenizer TOK that made them, and name {shlex.quote(str(folder))}",
        path=path,
    )


def _features(info: Path) -> dict[str, Any]:
    """The columns of a saved data set; none where the file does not say them."""
    try:
        table = json.loads(read_bounded(info, _MAX_INFO_BYTES))
    except (OSError, ValueError, FaultError, RecursionError):
        return {}
    features = table.get("features") if isinstance(table, dict) else None
    return features if isinstance(features, dict) else {}


def _is_list_of_integers(feature: object) -> bool:
    inner = feature.get("feature") if isinstance(feature, dict) else None
    return isinstance(inner, dict) and str(inner.get("dtype")).startswith(("int", "uint"))


def _types(feature: object) -> Iterator[str]:
    """The types of all values of a feature."""
    if isinstance(feature, dict):
        yield str(feature.get("dtype"))
        for each in feature.values():
            yield from _types(each)
