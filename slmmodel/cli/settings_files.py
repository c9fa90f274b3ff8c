"""Files of settings, ours and those of other trainers, in the place of the data: what they set, and its counterpart."""

from __future__ import annotations

import json
import re
import shlex
from ast import literal_eval
from collections.abc import Collection, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from slmmodel.errors import OptionError, SlmmodelError, of_another_trainer

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
    names = [*_table(text)] if text.lstrip().startswith("{") else _assigned(text)
    return names if len(_known(names)) >= _MIN_KNOWN else []


def settings_in(path: str) -> Settings | None:
    """The settings of a file that is a configuration of `slm train`; None for other files."""
    from slmmodel.cli.train_habits import is_configuration
    from slmmodel.config import read_yaml

    if not is_configuration(path):
        return None
    try:
        return read_yaml(path)
    except SlmmodelError:
        return None


_SHAPE = ("arch", "seq_len", "n_layers", "d_model")
"""Options of a model that decide its size, for any architecture."""


def refuse_idle_preset(config: str, from_file: Settings, given: Settings) -> None:
    """Raises `OptionError` for another preset beside a configuration with a whole model, whose sizes win."""
    from slmmodel.data_config import is_other_value
    from slmmodel.models.presets import preset

    named = given.get("model.preset")
    if (
        named is None
        or named == from_file.get("model.preset")
        or any(f"model.{each}" not in from_file for each in _SHAPE)
    ):
        return
    base = preset(str(named.value))
    sizes = {f"model.{name}": value for name, value in {"seq_len": base.seq_len, **base.model}.items()}
    other = [
        name
        for name, value in sizes.items()
        if name in from_file and is_other_value(name, from_file[name].value, value)
    ]
    if not other:
        return
    option = named.where + f"={named.value}" * (named.where != "--preset")
    raise OptionError(
        f"preset {named.value} has no effect on the model, whose sizes {config} sets",
        where=from_file[other[0]].where,
        limit=f"{other[0]} is {from_file[other[0]].value} there, {sizes[other[0]]} in the preset",
        fix=f"leave out {option}, or --config {shlex.quote(config)}",
        option="preset",
    )


_SECTION = re.compile(r"\s*\[([\w.]+)\]\s*", re.ASCII)
_PRODUCT = re.compile(r"\d+(?:\s*\*\s*\d+)+", re.ASCII)
_VALUE = re.compile(
    rf"""\s*(?:--)?([\w.-]+)\s*[=:]\s*("[^"]*"|'[^']*'|{_PRODUCT.pattern}|[^\s#"';]+)\s*([#;].*)?""", re.ASCII
)
_PLACEHOLDER = re.compile(r"=[A-Z]+$", re.MULTILINE)
_MAX_LEFT_OUT = 16
"""Names that a fix leaves out and lists."""


class AsOptions(NamedTuple):
    """Settings of a file as options of `slm train`, the names without one, and what the options need."""

    words: list[str]
    left_out: list[str]
    needed: list[str]

    @property
    def remark(self) -> str:
        """What stands behind the command with the options: what it needs, and which names it leaves out."""
        names = self.left_out[:_MAX_LEFT_OUT]
        names += [f"{len(self.left_out) - len(names)} more"] * (len(self.left_out) > len(names))
        remarks = [*dict.fromkeys(self.needed), *([f"leaves out {', '.join(names)}"] if names else [])]
        return f"  # {'; '.join(remarks)}" if remarks else ""


def as_options(path: str, arguments: Sequence[str]) -> AsOptions | None:
    """The options `--set` for a file of `name = value`, with values in our units; those of `arguments` stay as given.

    Heads of sections, as TOML and INI have, may stand above. None where nothing of the file has an option, and where a
    line is another statement or the value of a setting is not a literal: settings may depend on each other.
    """
    from slmmodel.cli.train_habits import remedy_of_setting
    from slmmodel.config import OPTIONS, model_options
    from slmmodel.errors import setting_meant
    from slmtok.cli.unknown_options import remark_in

    known = {*OPTIONS, *model_options(), "model.preset"}
    if (values := _values(path, known)) is None:
        return None
    flags = [part for name, value in values.items() for part in ("--" + name.replace("_", "-"), value or "")]
    found = AsOptions([], [], [])
    for name, value in values.items():
        ours = setting_meant(name, known)
        if ours in known and value is None:
            return None
        remedy = remedy_of_setting(name, ours, value, [*arguments, *flags]) if value is not None else ""
        words = shlex.split(_FIRST.split(remedy)[0])
        if remedy.startswith("leave it out"):
            # Another option of the file has it.
            continue
        if words[:1] != ["--set"] or _PLACEHOLDER.search("\n".join(words)):
            found.left_out.append(name)
            continue
        found.needed.extend(filter(None, [remark_in(remedy)]))
        for word in words[1::2]:
            if not _is_given(word.partition("=")[0], arguments):
                found.words.extend(("--set", word))
    return found if found.words else None


_FIRST = re.compile("[,:;] ")
"""Ends the options of a remedy, before what it says of them."""


def _is_given(name: str, arguments: Sequence[str]) -> bool:
    """Whether arguments set a setting."""
    from slmmodel.cli.options import flag_of

    flag = "--budget" if name.startswith("run.budget") else flag_of(name)
    return any(word == flag or word.startswith((f"{flag}=", f"--set={name}=", f"{name}=")) for word in arguments)


def _values(path: str, known: Collection[str]) -> dict[str, str | None] | None:
    """The values of a file of settings by name, None for those that are no literal; None for other files."""
    file, section = Path(path), ""
    if not file.is_file() or file.stat().st_size > _MAX_BYTES:
        return None
    text = file.read_text("utf-8", "replace")
    if text.lstrip().startswith("{"):
        # null stands for the default of the other trainer, as for ours.
        return {name: _of_json(value) for name, value in _table(text).items() if value is not None}
    found: dict[str, str | None] = {}
    for line in text.splitlines():
        if head := _SECTION.fullmatch(line):
            section = f"{head[1]}."
        elif assigned := _VALUE.fullmatch(line):
            name = section + assigned[1]
            found[name if name in known else assigned[1]] = _literal(assigned[2], is_code=file.suffix == ".py")
        elif named := _ASSIGNMENT.fullmatch(line):
            found[named[1]] = None
        elif not _NO_STATEMENT.fullmatch(line) or line.lstrip().startswith("["):
            return None
    return found


def _literal(text: str, *, is_code: bool) -> str | None:
    """A value without quotes, a product of numbers as one; None for an expression of Python."""
    if _PRODUCT.fullmatch(text):
        return str(prod(map(int, text.split("*"))))
    if is_code:
        try:
            value = literal_eval(text)
        except (ValueError, SyntaxError):
            return None
        return None if value is None else text.strip("\"'")
    return text.strip("\"'")


def _of_json(value: object) -> str | None:
    return None if isinstance(value, dict | list) or value is None else str(value)


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


def _table(text: str) -> dict[str, object]:
    """One JSON object; empty for other text."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return table if isinstance(table, dict) else {}


def _assigned(text: str) -> list[str]:
    """The names of the lines `name = value`, if more than half of all lines are such."""
    lines = [line for line in text.splitlines() if not _NO_STATEMENT.fullmatch(line)]
    found = [match[1] for line in lines if (match := _ASSIGNMENT.fullmatch(line))]
    return found if 2 * len(found) > len(lines) else []
