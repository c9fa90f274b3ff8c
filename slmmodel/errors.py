"""Every error that `slmmodel` raises on purpose: the fact with its value, the place, the limit, the fix.

A fix that names an argument is a tuple of strings and `Argument`s: `str(error)` writes `output='run'`, and the command
line `--output run`. The base class repeats that of slmtok, because the packages are isolated from each other.
"""

# Names without the suffix "Error": they read well in `except` clauses.
# ruff: noqa: N818

from __future__ import annotations

import difflib
import json
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from slmmodel.foreign_names import (
    FOREIGN_VALUES,
    OF_PASSES,
    PASSES,
    PRECISION_SWITCHES,
    SWITCHED_OFF,
    TRACKER_VARIABLES,
    UNITS,
    VOCAB_SIZES,
    own_setting,
    switched_on,
)
from slmmodel.sizes import parse_share

if TYPE_CHECKING:
    from pydantic import ValidationError


_NO_VALUE: Any = object()
_MAX_FACT_CHARS, _MAX_PART_CHARS, _MAX_FIX_CHARS = 600, 4000, 16_000
"""Characters of a fact, of another part of a message, and of a remedy, which is pasted; longer ones are cut."""


@dataclass(frozen=True)
class Argument:
    """An argument in a fix, with its value where one is meant: `Argument("force", True)`; a setting is dotted."""

    name: str
    value: Any = _NO_VALUE

    @property
    def has_value(self) -> bool:
        """Whether the fix shows a value and not the name alone."""
        return self.value is not _NO_VALUE


class OfCommand(str):
    """Words of a fix with an option that only commands have; `in_python` is what a caller of Python reads instead."""

    in_python: str

    def __new__(cls, words: str, in_python: str = "") -> OfCommand:
        """`in_python` has a default for pickle, which sets it afterwards."""
        made = super().__new__(cls, words)
        made.in_python = in_python
        return made


Fix: TypeAlias = str | tuple[str | Argument, ...]
Naming: TypeAlias = Callable[[Argument], str]
"""Writes an argument as the caller knows it."""


def python_naming(argument: Argument) -> str:
    """An argument as in Python: `force=True`, `settings={'run.seed': 0}`, or its name without a value."""
    if not argument.has_value:
        return argument.name
    shown = _shown(argument.value, argument.name)
    return f"settings={{{argument.name!r}: {shown}}}" if "." in argument.name else f"{argument.name}={shown}"


def _shown(value: object, name: str) -> str:
    """The `repr` of a value; the last part of its name in capitals stands for a long one, also in a mapping."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_shown(each, str(key))}' for key, each in value.items())}}}"
    text = repr(value)
    return text if len(text) <= _MAX_PART_CHARS else name.rpartition(".")[2].upper()


MAX_SHOWN = 60
"""Characters of an argument that a fix repeats."""


def first_row(rows: object) -> str:
    """The first of several rows of ids in a fix: itself, or `ids[0]` where it is long."""
    row, *_ = rows.tolist() if hasattr(rows, "tolist") else cast("list[object]", rows)
    return str(row) if len(str(row)) <= MAX_SHOWN else "ids[0]"


def left_out(names: Iterable[str]) -> str:
    """The end of a fix whose call leaves these arguments out: a comment, with which the line can be pasted."""
    listed = ", ".join(names)
    return f"  # without {listed}" if listed else ""


_CODE = re.compile(r"^(?:\w+ = |help\(|\[)?slm(?:model|tok)\.\w|(?<![\w.'\"])slm(?:model|tok)(?:\.\w+)+\(")
"""Python that names one of the packages: the beginning of a fix, or a call."""


def with_import(fix: str) -> str:
    """A fix in Python that names the packages, with their import: the caller may have imported `app` alone.

    The import stands before the first statement that names one of them, behind the prose before it.
    """
    named = dict.fromkeys(each for code in _CODE.finditer(fix) for each in _PACKAGE.findall(code[0]))
    missing = [each for each in named if not re.search(rf"\bimport (?:\w+, )*{each}\b", fix)]
    first = next((code.start() for code in _CODE.finditer(fix) if _PACKAGE.findall(code[0])[0] in missing), None)
    if first is None:
        return fix
    # An argument belongs to the call around it, whose bracket follows a name.
    opened: list[int] = []
    for at, character in enumerate(fix[:first]):
        if character in "([{":
            opened.append(at)
        elif character in ")]}" and opened:
            opened.pop()
    around = [at for at in opened if fix[at] != "(" or fix[at - 1 : at].isidentifier()]
    begin = fix.rfind(" ", 0, min([first, *around])) + 1
    begin -= len(found[0]) if (found := _TARGET.search(fix[:begin])) else 0
    return f"{fix[:begin]}import {', '.join(missing)}; {fix[begin:]}"


def with_import_explained(fix: str) -> str:
    """As `with_import`, with the placeholders of the fix, for an error that is none of ours."""
    from slmmodel.placeholders import explain_placeholders

    return explain_placeholders(with_import(fix), "", ())


def add_import(error: Exception) -> None:
    """Puts the import into the fix of an error of slmtok, whose own callers have it; `SlmmodelError` adds its own."""
    fix = getattr(error, "fix", None)
    if isinstance(fix, str) and not isinstance(error, SlmmodelError) and (imported := with_import(fix)) != fix:
        setattr(error, "fix", imported)  # noqa: B010 - mypy knows no such attribute


_PACKAGE = re.compile(r"\b(slmmodel|slmtok)\.")
_TARGET = re.compile(r"\w+ = $")
"""The beginning of an assignment."""


class SlmmodelError(Exception):
    """Base of all errors of this package; `fields` holds the values in its text."""

    def __init__(
        self,
        fact: str = "",
        *,
        where: str | None = None,
        limit: str | None = None,
        fix: Fix | None = None,
        **fields: object,
    ) -> None:
        super().__init__(fact)
        self.fact = fact
        self.where = where
        self.limit = limit
        self._fix = fix
        self.fields: dict[str, object] = fields
        self.settings: Mapping[str, object] = {}
        """The settings of the Python call, dotted, which a fix of settings repeats."""
        self.positions: Mapping[str, tuple[str, str]] = {}
        """Arguments of the Python call that were given by position: the call before and behind the value of each.

        By name they would be a second value of the argument.
        """

    @property
    def fix(self) -> str | None:
        """The remedy."""
        return self._fix_as(python_naming)

    @fix.setter
    def fix(self, fix: Fix | None) -> None:
        self._fix = fix

    @property
    def parts(self) -> dict[str, Fix | None]:
        """The four parts, with the arguments that they name."""
        return {"fact": self.fact, "where": self.where, "limit": self.limit, "fix": self._fix}

    def _fix_as(self, naming: Naming) -> str | None:
        if not isinstance(self._fix, tuple):
            return self._fix and _shortened(self._fix, _MAX_FIX_CHARS)
        fix: Iterable[str | Argument] = self._fix
        if naming is python_naming:
            fix = self._with_settings(tuple(map(self._in_place, self._fix)))
            fix = (part.in_python if isinstance(part, OfCommand) else part for part in fix)
        return _shortened("".join(part if isinstance(part, str) else naming(part) for part in fix), _MAX_FIX_CHARS)

    def _in_place(self, part: str | Argument) -> str | Argument:
        """The call with another value of an argument that was given by position; other parts as they are."""
        if isinstance(part, str) or part.name not in self.positions or not part.has_value:
            return part
        before, behind = self.positions[part.name]
        return f"{before}{part.value!r}{behind}"

    def _with_settings(self, fix: tuple[str | Argument, ...]) -> Iterator[str | Argument]:
        """The fix in Python: settings side by side are one mapping, with those of the call, which it replaces.

        Keywords beside them, such as `budget`, follow behind commas.
        """
        parts = list(fix)
        while parts:
            part = parts.pop(0)
            beside = [part] if isinstance(part, Argument) and part.has_value else []
            while beside and len(parts) > 1 and parts[0] == " " and isinstance(parts[1], Argument):
                beside.append(parts[1])
                del parts[:2]
            changes = {each.name: each.value for each in beside if "." in each.name}
            keywords = [each for each in beside if "." not in each.name]
            if not changes:
                yield from _listed(keywords or [part])
                continue
            # All kinds of budget are one setting.
            is_budget = any(each.name == "budget" for each in keywords)
            is_budget |= any(name.startswith("run.budget.") for name in changes)
            replaced = "run.budget." if is_budget else None
            kept = {n: value for n, value in self.settings.items() if not (replaced and f"{n}.".startswith(replaced))}
            # A value in the place of a section, of which a setting is named.
            sections = {name.rpartition(".")[0] for name in changes}
            kept = {n: value for n, value in kept.items() if n not in sections or isinstance(value, Mapping)}
            # A switch of another trainer, in place of which one is named.
            kept = {n: value for n, value in kept.items() if switched_on(n, value) != changes.get("run.precision", "")}
            # Of two spellings of one setting, ours has the value.
            kept = {n: value for n, value in kept.items() if own_setting(n) not in changes}
            yield from _listed([Argument("settings", {**kept, **changes}), *keywords])

    def to_dict(self, naming: Naming = python_naming) -> dict[str, object]:
        """Class, parts, fields and message: the error object of `--json`."""
        parts = {"fact": _shortened(self.fact), "where": self.where, "limit": self.limit, "fix": self._fix_as(naming)}
        fields = json.loads(json.dumps(self.fields, default=str))
        return {"class": type(self).__name__, **parts, "fields": fields, "message": self.render(naming)}

    def __str__(self) -> str:
        return self.render()

    def render(self, naming: Naming = python_naming) -> str:
        """The message, its arguments written by `naming`."""
        where, limit = (part and _shortened(part, _MAX_PART_CHARS) for part in (self.where, self.limit))
        fix = self._fix_as(naming)
        fix = with_import(fix) if fix and naming is python_naming else fix
        if fix:
            # Its regular expressions take 1 ms.
            from slmmodel.placeholders import explain_placeholders, remedy_of_missing

            if isinstance(self, FileNotFoundError):
                fix = remedy_of_missing(self.fields.get("path"), fix)
            fix = explain_placeholders(fix, where or "", filter(None, (self.fact, where, limit)))
        parts = (("where: ", where), ("limit: ", limit), ("fix:   ", fix))
        if "\nOriginal Traceback" in self.fact:
            # Of a worker of torch's DataLoader, whose message is this error with its traceback.
            return self.fact
        lines = [_shortened(self.fact), *(f"  {label}{part}" for label, part in parts if part)]
        # The name of a file may hold line feeds, and a part is one line.
        return "\n".join(line.replace("\n", "\\n") for line in lines)


def _shortened(text: str, most: int = _MAX_FACT_CHARS) -> str:
    """A part without the middle of a long value, which, quoted whole, would hide what the message says."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]} [… {len(text):,} characters …] {text[-most // 4 :]}"


def _listed(parts: Iterable[str | Argument]) -> list[str | Argument]:
    """The parts with commas between them."""
    return [each for part in parts for each in (", ", part)][1:]


class OptionError(SlmmodelError, ValueError):
    """An option with an invalid value, or that contradicts another."""


class WrongType(SlmmodelError, TypeError):
    """An argument of a type that the call does not take."""


class UnknownName(SlmmodelError, ValueError):
    """A command, option, role, model, optimizer or strategy that does not exist."""


class InvalidConfig(SlmmodelError, ValueError):
    """A setting that does not exist, has an invalid value, or does not fit the others or the data."""


class InvalidInput(SlmmodelError, ValueError):
    """Ids or a state that a model cannot process: more ids than `seq_len`, unknown ids, documents mixed."""


class MissingPackage(SlmmodelError, ImportError):
    """An optional package that is needed and not installed."""


class MissingInput(SlmmodelError, FileNotFoundError):
    """A file, folder, run, checkpoint or split that does not exist or is unfinished."""


class Unreadable(SlmmodelError, OSError):
    """A file that cannot be opened, read or written."""


class CorruptFile(SlmmodelError, ValueError):
    """A file that is damaged, was edited, or contradicts the others of its folder."""


class UnsupportedFormat(SlmmodelError, ValueError):
    """A version, layout or architecture that this package or a target format does not support."""


class Mismatch(SlmmodelError, ValueError):
    """Tokenizers, data, evaluations or runs that must agree and differ."""


class BytesDisagree(SlmmodelError, ValueError):
    """Scored targets whose bytes differ from those of their document: no bits per byte exist."""


class DiskFull(SlmmodelError, OSError):
    """No space left to write to."""


class OutputExists(SlmmodelError, FileExistsError):
    """An output, or a finished run, that may not be replaced."""


class NotFinite(SlmmodelError, ArithmeticError):
    """Loss or gradient was not finite in three steps in a row or a whole run, or weights, logits or losses are not."""


class OutOfMemory(SlmmodelError, MemoryError):
    """A single sequence does not fit into memory, a rank of several ran out of it, or a command outside training."""


class RankFailed(SlmmodelError, ConnectionError):
    """Another process of a training on several ranks ended, or cannot be reached."""


ERRORS: tuple[type[SlmmodelError], ...] = tuple(SlmmodelError.__subclasses__())


def missing_package(user: str, *packages: str) -> MissingPackage:
    """The error for packages that `user` needs, with a command that installs them.

    The command names the packages themselves: it works with a wheel and in a checkout.
    """
    names = ", ".join(packages)
    which, are = ("packages", "are") if len(packages) > 1 else ("package", "is")
    return MissingPackage(
        f"{user} needs the {which} {names}, which {are} not installed", fix=f"pip install {' '.join(packages)}"
    )


def unwritten(value: object) -> str | None:
    """What an error names an integer of more digits than Python writes; None for other values."""
    try:
        str(value if isinstance(value, int) else "")
    except ValueError:
        return f"an integer of {cast('int', value).bit_length()} bits"
    return None


def suggestion(name: str, choices: Iterable[str], *, cutoff: float = 0.75) -> str | None:
    """The one choice that `name` is a misspelling of, or None."""
    near = difflib.get_close_matches(name.lower(), list(choices), n=2, cutoff=cutoff)
    ratios = [difflib.SequenceMatcher(None, name.lower(), choice).ratio() for choice in near]
    return near[0] if near and (len(near) == 1 or ratios[0] > ratios[1]) else None


MAX_LISTED = 4
"""Names that a fix lists; the limit lists all."""


def unknown_name(
    what: str, name: str, choices: Iterable[str], fix: str | Argument, *, nearest: str | None = None, **fields: Any
) -> UnknownName:
    """The error for a name that is not among `choices`; the fix has the nearest of them, or each of a few.

    It takes the place of `{}` in `fix`, or is the value of an argument. `nearest` is the choice that is most like what
    the name stands for elsewhere; it counts where the name is no misspelling.
    """
    names = list(choices)
    listed = [part.strip() for part in name.split(",")]
    if len(listed) > 1 and {*listed} <= {*names}:
        one = fix.format(listed[0]) if isinstance(fix, str) else Argument(fix.name, listed[0])
        each = ", and a run for each other value" if not isinstance(fix, str) or fix.endswith("{}") else ""
        fact, limit = f"{name!r} is {len(listed)} names, not one {what}", f"one of {', '.join(names)}"
        shown_fix: Fix = one + each if isinstance(one, str) else (one, each)
        return UnknownName(fact, limit=limit, fix=shown_fix, name=name, **fields)
    near = suggestion(name, names) or _longer(name, names)
    nearest = nearest or suggestion(name, names, cutoff=0.6)
    meant = f"; did you mean {near!r}?" if near else f"; {nearest!r} is most like it" if nearest else ""
    near = near or nearest or (names[0] if len(names) == 1 else None)
    shown: Fix = "use one of them"
    if isinstance(fix, Argument):
        meant_ones = [near] if near else names
        if len(meant_ones) <= MAX_LISTED:
            shown = tuple(part for each in meant_ones for part in (", or ", Argument(fix.name, each)))[1:]
    elif near or not fix.startswith("-") or len(names) > MAX_LISTED:
        shown = fix.format(near or what.upper())
    else:
        shown = ", or ".join(map(fix.format, names))
    return UnknownName(
        f"unknown {what} {name!r}{meant}", limit=f"one of {', '.join(names)}", fix=shown, name=name, **fields
    )


def _longer(name: str, names: Iterable[str]) -> str | None:
    """The first of the names whose first words are `name`."""
    return next((other for other in names if other.startswith((f"{name}-", f"{name}_"))), None)


_LIST_SETTINGS: Fix = ("list all settings with their meanings: slm config", OfCommand("", " in a shell"))
"""The remedy for a setting of no known meaning: without it, the call does something else than was meant."""
_OF_SECTIONS = ("name", "kind")
"""Settings that say another thing in each section."""


def unknown_setting(name: str, names: Iterable[str], where: str) -> InvalidConfig:
    """The error for a setting that is not among `names`, with the nearest of them and those of its section."""
    known = list(names)
    last, ours = name.rpartition(".")[2], own_setting(name)
    section = name.rpartition(".")[0] + "."
    is_of_section = last in _OF_SECTIONS and any(other.startswith(section) for other in known)
    alike = (other for other in known if other.rpartition(".")[2] == last)
    elsewhere = None if is_of_section else next(alike, None)
    near = elsewhere or (ours if ours in known else None) or _near_setting(name, known)
    if near in VOCAB_SIZES:
        limit = "the vocabulary of the data decides it"
        return InvalidConfig(f"{name!r} is not a setting", where=where, limit=limit, fix="leave it out", option=name)
    inside = [other for other in known if f".{name}." in f".{other}"]
    # Of a table such as `data.options` the limit has its name alone.
    names_in_section = (other for other in known if other.startswith(name.partition(".")[0] + "."))
    of_section = inside or [other for other in names_in_section if other.rpartition(".")[0] not in known]
    if inside:
        one = f"name a setting of it: {of_section[0]}"
        return InvalidConfig(
            f"{name!r} is a section, not a setting", where=where, limit=", ".join(of_section), fix=one, option=name
        )
    fix: Fix = f"write {near}{UNITS.get(near, '')}" if near else "use one of them"
    if not near and any("." in each for each in known):
        # A switch of precision that is on has a setting, and one that is off has no effect.
        of_passes = OF_PASSES if last.replace("-", "_") in PASSES else _LIST_SETTINGS
        fix = "remove it" if last in PRECISION_SWITCHES else of_passes
    if whole := next((other for other in known if "." in other and name.endswith(f".{other}")), None):
        # A whole name inside a section, which is its first part once more.
        near, section = whole, name.removesuffix(f".{whole}")
        last = whole.removeprefix(f"{section}.")
        fix = (
            f"write {whole} outside of {section}"
            if last == whole
            else f"write {last} inside {section}, or {whole} alone"
        )
    sections = ["model", "data", "optim", "run"] if any("." in each for each in known) else known
    return InvalidConfig(
        f"unknown setting {name!r}" + (f"; did you mean {near!r}?" if near else ""),
        where=where,
        limit=f"known: {', '.join(of_section or sections)}",
        fix=fix,
        option=name,
    )


_LEFT_OUT = ("remove it", "leave it out")


def first_unknown(errors: Mapping[str, InvalidConfig], settings: Mapping[str, Any]) -> InvalidConfig:
    """The first of these errors of `unknown_setting`, by setting, with what to write for all of them.

    The only one gets the value as well, where that is of an option, not of a file. Values of other tools' names may
    mean something else; those that have another word here get it.
    """
    name, error = next(iter(errors.items()))
    names = {each: _written(other) if len(errors) > 1 else str(other.fix) for each, other in errors.items()}
    words_of = {each: _own_word(fix.removeprefix("write "), settings[each].value) for each, fix in names.items()}
    fixes = {each: f"{fix}: {words_of[each]}" if words_of[each] else fix for each, fix in names.items()}
    meant = names[name].removeprefix("write ")
    unlike = [each for each, other in errors.items() if other.parts["fix"] == _LIST_SETTINGS]
    mended = {at: fix for at, fix in fixes.items() if at not in unlike}
    # One setting may take the place of several, which need no sentence each.
    is_one = not unlike and len({*fixes.values()}) == 1 and meant not in _LEFT_OUT
    if len(errors) > 1 and not is_one and all(fix.startswith(("write ", *_LEFT_OUT)) for fix in mended.values()):
        given = {at: f"{at}: {settings[at].value}" if words_of[at] else at for at in mended}
        words = [f"remove {at}" if fix in _LEFT_OUT else f"{fix} for {given[at]}" for at, fix in mended.items()]
        error.fix = "; ".join(words) or _LIST_SETTINGS
        if unlike and words:
            error.fix = (f"{error.fix}; for {', '.join(unlike)} ", *_LIST_SETTINGS)
    if len(errors) == 1 and (valued := _with_value(name, settings)):
        error.fix = valued
        return error
    is_own = names[name] == f"write {meant}" and " " not in meant and own_setting(name) != meant
    if is_own and len(errors) == 1 and settings[name].where.startswith("--set "):
        error.fix = (Argument(meant, settings[name].value),)
    elif is_one and words_of[name]:
        error.fix = fixes[name]
    return error


_TRACKERS = ("tensorboard", "trackio", "wandb")


def _with_value(name: str, settings: Mapping[str, Any]) -> Fix | None:
    """What stands for a setting of another trainer with its value, of an option or a Python call; None for others."""
    last, ours = name.lower().rpartition(".")[2].replace("-", "_"), own_setting(name)
    value = settings[name].value
    if not settings[name].where.startswith(("--set ", "settings")):
        return None
    if variable := TRACKER_VARIABLES.get(last):
        in_shell = f"leave it out: export {variable}={shlex.quote(str(value))} in the shell sets it for run.track=wandb"
        of_python = (
            f"leave it out: import os; os.environ[{variable!r}] = {str(value)!r} sets it for 'run.track': 'wandb'"
        )
        return (OfCommand(in_shell, of_python),)
    if ours == "run.track":
        words = re.split(r"\W+", f"{value} {last.replace('_', ' ')}".lower())
        if str(value).lower() in SWITCHED_OFF:
            return "leave it out: run.track is empty by default"
        return (Argument("run.track", next((each for each in words if each in _TRACKERS), "wandb")),)
    if ours == "optim.schedule.final" and last.endswith("lr"):
        given = settings.get("optim.lr") or next(
            (each for at, each in settings.items() if own_setting(at) == "optim.lr"), None
        )
        peak, end = (parse_share(str(each)) for each in (given and given.value, value))
        if peak and end is not None and end <= peak:
            return Argument(ours, float(f"{end / peak:.6g}")), ", the share of optim.lr at the end"
        return f"write optim.schedule.final{UNITS[ours]}: {value} divided by optim.lr"
    return None


def _own_word(ours: str, value: object) -> str | None:
    """What another trainer's value of a setting is called here; None where it has no other word."""
    word = FOREIGN_VALUES.get(ours, {}).get(str(value).lower())
    return None if word == value else word


def _written(error: SlmmodelError) -> str:
    """The fix of a setting beside others: one argument as `write NAME: VALUE`, or as an option that is no setting."""
    match error.parts["fix"]:
        case (Argument(name=name, value=value),):
            return f"write {name}: {value}"
        case (Argument(name="output", value=value), _):
            return f"write output={value!r} beside the settings"
    return str(error.fix)


def _near_setting(name: str, known: Collection[str]) -> str | None:
    """The setting that `name` misspells, or that it stands inside of; of a section that exists, one of its settings."""
    above, _, last = name.rpartition(".")
    if above in known:
        return above
    # The section, which both share, would make any two names near to each other.
    names = [other.rpartition(".")[2] for other in known if other.rpartition(".")[0] == above]
    begun = max((each for each in names if last.startswith(f"{each}_")), key=len, default=None)
    near = suggestion(last, names) or begun
    return (near and ".".join(filter(None, (above, near)))) if names else suggestion(name, known)


def of_another_trainer(names: Iterable[str], known: Collection[str], values: Mapping[str, object] | None = None) -> str:
    """The settings that mean what those of another trainer do, as the beginning of a fix; empty for other names.

    values: of the settings; one that has another word here is translated.
    """
    given = list(names)
    pairs = [(name, setting_meant(name, known)) for name in given if name not in known]
    pairs = [(name, None if ours in VOCAB_SIZES else ours) for name, ours in pairs]  # the data decide these
    units = {ours: f" ({unit.removeprefix(', which ').removeprefix('is ')})" for ours, unit in UNITS.items()}
    words = {name: _own_word(str(ours), (values or {}).get(name)) for name, ours in pairs}
    written = [
        f"{ours}{f': {words[name]}' if words[name] else ''} for {name}{units.get(str(ours), '')}"
        for name, ours in pairs
        if ours in known
    ]
    # The heads of a preset are grouped by its own number of key/value heads, which trainers without groups do not name.
    is_ungrouped = {"model.n_heads"} == {ours for _, ours in pairs} & {"model.n_heads", "model.n_kv_heads"}
    written += ["model.n_kv_heads with the number of heads"] if is_ungrouped else []
    others = ", and leave out the others" if any(ours not in known for _, ours in pairs) else ""
    return f"write {', '.join(written)}, each in its section{others}; " if written else ""


def setting_meant(name: str, known: Collection[str]) -> str | None:
    """The setting that a name stands for: the one with this last name, or that of another trainer; None for others."""
    return name if name in known else _in_section(name, known) or own_setting(name)


def _in_section(name: str, known: Collection[str]) -> str | None:
    """The one setting with this last name; None where sections have one each, or none has it."""
    last = name.rpartition(".")[2]
    alike = [each for each in known if each.rpartition(".")[2] == last]
    return alike[0] if len(alike) == 1 and last not in _OF_SECTIONS else None


MAX_NAMED = 8
"""Differences that an error names."""
WHOLE = "a whole number"
_EXPECTED = {
    "missing": "a value",
    "int_type": WHOLE,
    "float_type": "a number",
    "int_parsing": WHOLE,
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a table of names and values",
    "tuple_type": "a list of values",
}
"""Limits by pydantic's type of error; others keep its message."""
_INTEGER = re.compile(r"-?\d+$", re.ASCII)
"""A bound at the end of a limit."""
_POWER_OF_TEN = re.compile(r"\b1(0{7,})$", re.ASCII)
"""A bound such as 1e30, which pydantic writes with all its zeros."""


def first_fault(error: ValidationError) -> tuple[str, Any, str]:
    """Dotted name, value (None where it is missing) and limit of the first invalid field.

    Raises the `SlmmodelError` of a validator as it is.
    """
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, SlmmodelError):
        raise cause from None
    value = None if first["type"] == "missing" else first["input"]
    if first["type"] == "missing" and isinstance(first["loc"][-1], int):
        # A list of a fixed length that is too short lacks each value up to its last one.
        *name, _ = first["loc"]
        length = 1 + max(int(each["loc"][-1]) for each in error.errors() if [*each["loc"][:-1]] == name)
        return ".".join(map(str, name)), first["input"], f"{length} values"
    if first["type"] == "too_long":
        at_most = "" if first["ctx"]["field_type"] == "Tuple" else "at most "
        return ".".join(map(str, first["loc"])), value, f"{at_most}{first['ctx']['max_length']} values"
    limit = _EXPECTED.get(first["type"], first["msg"].removeprefix("Value error, ").removeprefix("Input should be "))
    bound = next((each for key, each in first.get("ctx", {}).items() if key in ("ge", "gt", "le", "lt")), None)
    if type(bound) is int:
        # pydantic writes some integers as floats: 2 ** 63 as 9223372036854776000.
        limit = _INTEGER.sub(str(bound), limit)
    limit = _POWER_OF_TEN.sub(lambda zeros: f"1e{len(zeros[1])}", limit)
    return ".".join(map(str, first["loc"])), unwritten(value) or value, limit
