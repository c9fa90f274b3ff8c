"""Files of settings, ours and those of other trainers, in the place of the data: what they set, and its counterpart."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slmmodel.errors import SlmmodelError, of_another_trainer

if TYPE_CHECKING:
    from slmmodel.config import Settings

_MAX_BYTES = 1 << 16
"""A longer file is a corpus."""
_MIN_KNOWN = 2
"""Settings by which a file is known: one word such as `epochs` may stand in any text."""
_ASSIGNMENT = re.compile(r"\s*(?:--)?([A-Za-z_][\w.-]*)\s*[=:]\s*\S.*")
_NO_STATEMENT = re.compile(r"\s*(?:[#;\[].*|//.*|\"\"\".*|)")
"""A comment, the head of a section, or nothing."""


def names_in(path: str) -> list[str]:
    """The names that a file of settings assigns; [] for other files.

    A file of lines `name = value`, as nanoGPT takes, or a JSON object, as models of Hugging Face have, most of whose
    lines assign, and some to settings that are known here.
    """
    file = Path(path)
    try:
        if not file.is_file() or file.stat().st_size > _MAX_BYTES:
            return []
        text = file.read_text("utf-8")
    except (OSError, ValueError):
        return []
    names = _keys(text) if text.lstrip().startswith("{") else _assigned(text)
    return names if len(_known(names)) >= _MIN_KNOWN else []


def settings_in(path: str) -> Settings | None:
    """The settings of a file that is a configuration of `slm train`; None for other files."""
    from slmmodel.config import read_yaml

    if not path.endswith((".yaml", ".yml")) or not Path(path).is_file():
        return None
    try:
        return read_yaml(path)
    except SlmmodelError:
        return None


_SECTION = re.compile(r"\s*\[([\w.]+)\]\s*", re.ASCII)
_VALUE = re.compile(r"""\s*([\w.]+)\s*=\s*("[^"]*"|'[^']*'|[^\s#"';]+)\s*([#;].*)?""", re.ASCII)


def as_options(path: str) -> str:
    """The options `--set` for a file of `name = value` below heads of sections, such as TOML and INI.

    Empty unless each of its lines sets one of our settings.
    """
    from slmmodel.config import OPTIONS, model_options

    file, section = Path(path), ""
    known = {*OPTIONS, *model_options(), "model.preset"}
    words: list[str] = []
    if file.stat().st_size > _MAX_BYTES:
        return ""
    for line in file.read_text("utf-8", "replace").splitlines():
        if head := _SECTION.fullmatch(line):
            section = f"{head[1]}."
        elif assigned := _VALUE.fullmatch(line):
            name = next((each for each in (section + assigned[1], assigned[1]) if each in known), None)
            if name is None:
                return ""
            value = assigned[2].strip("\"'")
            words += ["--set", f"{name}={value}"]
        elif line.strip()[:1] not in ("", "#", ";"):
            return ""
    return shlex.join(words)


def translated(names: Sequence[str]) -> str:
    """What to write for settings of another trainer, as the beginning of a fix."""
    from slmmodel.config import OPTIONS, model_options

    return of_another_trainer(names, [*OPTIONS, *model_options({})])


def _known(names: Sequence[str]) -> list[str]:
    """Those of the names for which `translated` has one of ours, or that are ours."""
    from slmmodel.config import OPTIONS, model_options
    from slmmodel.foreign_names import own_setting

    ours = {part for name in [*OPTIONS, *model_options()] for part in (name, name.rpartition(".")[2])}
    return [name for name in names if name in ours or own_setting(name) is not None]


def _keys(text: str) -> list[str]:
    """The keys of one JSON object."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [*table] if isinstance(table, dict) else []


def _assigned(text: str) -> list[str]:
    """The names of the lines `name = value`, if more than half of all lines are such."""
    lines = [line for line in text.splitlines() if not _NO_STATEMENT.fullmatch(line)]
    found = [match[1] for line in lines if (match := _ASSIGNMENT.fullmatch(line))]
    return found if 2 * len(found) > len(lines) else []
