"""`plan.json`: what identifies a run. The same command resumes its plan; another command is refused.

The plan holds everything that determines the output: tokenizer, delimiters, sizes, split, limits, reading options, and
the name, the size and a digest of the first and last 64 KiB of each source. It holds no times and no absolute paths.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from slmtok import schema
from slmtok.checks import check_recorded_names
from slmtok.corpus import STDIN
from slmtok.corpus.paths import HUGGING_FACE, STDIN_DEVICE
from slmtok.corpus.reading import check_named_fields, documents
from slmtok.errors import OptionError, PlanMismatch, Setting, SlmtokError
from slmtok.files import unreadable
from slmtok.json_files import parse, read_bounded
from slmtok.option_values import check_val
from slmtok.options import PackOptions, option_specs
from slmtok.shards.format import FRAMES, PLAN, PLAN_KEYS, corrupt, refuse_link
from slmtok.shards.split import by_rule
from slmtok.strict_json import FaultError

FORMAT = "slmtok-pack-plan"
VERSION = 1
_EDGE_BYTES = 64 << 10


def source_names(paths: Sequence[str]) -> list[str]:
    """The name of each source in plan and manifest: its path relative to the folder that holds them all.

    Raises `OptionError` for one that is not UTF-8.
    """
    check_recorded_names(paths)
    files = [path for path in paths if path != STDIN and Path(path).exists()]
    if not files:
        return list(paths)
    folders = [os.fspath(Path(path).absolute().parent) for path in files]
    root = os.path.commonpath(folders)
    known = {path: Path(path).absolute().relative_to(root).as_posix() for path in files}
    return [known.get(path, path) for path in paths]


def sources(paths: Sequence[str], names: Sequence[str]) -> list[dict[str, Any]]:
    """The record of each source: `name`, `bytes` and `edges`, both None where it is not a file."""
    return [{"name": name, **_identity(path)} for path, name in zip(paths, names, strict=True)]


def refuse_pipes(paths: Iterable[object]) -> None:
    """Raises `OptionError` for a pipe or a device. Before they are opened: a pipe may wait for a writer for ever."""
    for path in paths:
        if not isinstance(path, (str, os.PathLike)) or os.fsdecode(path) in (STDIN, STDIN_DEVICE):
            continue
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116  (a text in the place of a path is no error here)
        except (OSError, ValueError):
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise OptionError(
                f"{os.fsdecode(path)!r} is a pipe or a device, which can be read only once",
                limit="sources are identified before they are read",
                fix=f"pipe its text in, and name - in the place of {shlex.quote(os.fsdecode(path))};"
                " or save the text to a file",
                option="corpus",
            )


def _identity(path: str) -> dict[str, Any]:
    file_path = Path(path)
    if path.startswith(HUGGING_FACE):
        return {"bytes": None, "edges": _edges_of_folder(path)}
    if path == STDIN or not file_path.is_file():
        refuse_pipes([path])
        return {"bytes": None, "edges": None}
    try:
        with file_path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            edges = hashlib.sha256(file.read(_EDGE_BYTES))
            file.seek(max(0, size - _EDGE_BYTES))
            edges.update(file.read(_EDGE_BYTES))
    except OSError as error:
        raise unreadable(path, error) from error
    return {"bytes": size, "edges": edges.hexdigest()}


def _edges_of_folder(source: str) -> str | None:
    """A digest of the names and sizes of the files of a data set in a folder; None for one that is elsewhere."""
    from slmtok.corpus.arrow import parse_dataset_name

    folder = Path(parse_dataset_name(source).name)
    if not folder.is_dir():
        return None
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    entries = [[path.relative_to(folder).as_posix(), path.stat().st_size] for path in files]
    return hashlib.sha256(json.dumps(entries).encode()).hexdigest()


def stamp(paths: Sequence[str]) -> str:
    """A digest of the inodes, sizes and times of change of the sources: equal while nobody writes to their files.

    No file that is missing or no file at all has a lasting state, so a stamp with one never equals another.
    """
    digest = hashlib.sha256()
    for path in paths:
        folder = Path(path.removeprefix(HUGGING_FACE))
        files = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
        for file in files:
            try:
                status = file.stat()
                is_file = stat.S_ISREG(status.st_mode) and path != STDIN
            except (OSError, ValueError):
                is_file = False
            if is_file:
                state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
                digest.update(repr(state).encode())
            elif not file.is_dir():
                digest.update(os.urandom(16))
    return digest.hexdigest()


def read(folder: Path) -> dict[str, Any] | None:
    """The plan in a folder; None where there is none. Raises `CorruptShard` for one that is damaged."""
    path = folder / PLAN
    try:
        refuse_link(path)
        return parse(read_bounded(path, "plan"), _PLAN)
    except FileNotFoundError:
        return None
    except FaultError as fault:
        fix = ("restore the file, or ", Setting("force", True), " starts again")
        raise corrupt(path, str(fault), kind="plan", fix=fix) from None


def _split(value: Any, where: str) -> None:
    """A rule with what it means for this corpus, if that depends on the lengths of its documents."""
    PLAN_KEYS["split"](value, where)
    try:
        rule = check_val(f"{where}.rule", value["rule"])
    except OptionError as error:
        raise FaultError(error.fact) from None
    keys = {"rule", "first", "cut"} if rule.startswith("tail:") else {"rule"}
    if rule == "auto" or set(value) != keys:
        raise FaultError(f"{where} is {schema.shown(value)}, which does not fit its rule")


_PLAN = schema.table({**PLAN_KEYS, "format": schema.choice(FORMAT), "version": schema.choice(VERSION), "split": _split})


def check_same(
    found: dict[str, Any], wanted: dict[str, Any], folder: Path, sources: Sequence[str], options: PackOptions
) -> None:
    """Raises `PlanMismatch` with the fields in which two plans differ. sources, options: of the second one."""
    if fields := _differing(found, wanted):
        changes = differences(found, wanted)
        raise PlanMismatch(
            (f"{str(folder)!r} was started {'' if changes[0] == 'without ' else 'with '}", *changes),
            where=str(folder / PLAN),
            fix=(
                "run the command that started it, name another ",
                Setting("output"),
                ", or ",
                Setting("force", True),
                " to start again",
                *given_before(found, wanted, sources, options),
            ),
            path=str(folder),
            field=fields[0],
        )


def differences(found: dict[str, Any], wanted: dict[str, Any]) -> tuple[str | Setting, ...]:
    """The fields of `_differing` as a message: options as they are given, other fields by name; empty for none.

    An example: `--separator '\\n', now without --separator; other sources: ...`.
    """
    fields = _differing(found, wanted)
    changes = _option_changes(found, wanted)
    texts = [*changes.values()]
    before, now, told = dict(_fields(found)), dict(_fields(wanted)), {"sources", *changes}
    # The frame stands for bos and eos.
    told |= {"frame"} if told & {"bos", "eos"} else set()
    for name in fields:
        if told.isdisjoint(re.split(r"[.\[]", name)):
            texts.append((f"another {name}: {_shorten(before.get(name))}, now {_shorten(now.get(name))}",))
    if any(name.startswith("sources") for name in fields):
        texts.append((f"other sources: {_source_change(found['sources'], wanted['sources'])}",))
    return tuple(part for number, text in enumerate(texts) for part in ("; " * bool(number), *text) if part)


def _option_changes(found: dict[str, Any], wanted: dict[str, Any]) -> dict[str, tuple[str | Setting, ...]]:
    """`OPTION, now OPTION` for the key of each option that two plans record differently."""
    before, now = _options(found), _options(wanted)
    changes: dict[str, tuple[str | Setting, ...]] = {}
    for name, _, spec in option_specs(PackOptions):
        key = spec.key or name
        old, new = (plan.get(key, spec.default) for plan in (before, now))
        if old != new:
            changes[key] = (*_as_given(name, old), ", now ", *_as_given(name, new))
    return changes


def _as_given(name: str, value: Any) -> tuple[str | Setting, ...]:
    """An option with its value, or `without` it. `bos` and `eos` are recorded where they are not added alone."""
    if name in ("bos", "eos"):
        return (Setting(name, value is None),)
    if value in (None, False) or (not value and isinstance(value, (list, tuple, dict))):
        return ("without ", Setting(name))
    return (Setting(name, tuple(value) if isinstance(value, list) else value),)


def _differing(found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Each option in which two plans differ, and the first other field."""
    before, now = dict(_fields(found)), dict(_fields(wanted))
    differing = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    options = [name for name in differing if name.startswith("options.")]
    return options + [name for name in differing if name not in options][:1]


def _source_change(found: Sequence[dict[str, Any]], wanted: Sequence[dict[str, Any]]) -> str:
    """What happened to the sources, in the first one that differs."""
    before, now = ({source["name"]: source for source in sources} for sources in (found, wanted))
    gone, new = [name for name in before if name not in now], [name for name in now if name not in before]
    if gone or new:
        return "; ".join([f"{name} was among them" for name in gone[:1]] + [f"{name} was not" for name in new[:1]])
    changed = next((name for name in now if now[name] != before[name]), None)
    if changed is None:
        return "their order or number is another"
    sizes = now[changed]["bytes"], before[changed]["bytes"]
    if None in sizes or sizes[0] == sizes[1]:
        return f"{changed} has changed since"
    return f"{changed} has {sizes[0]:,} bytes now, and had {sizes[1]:,}"


def given_before(
    found: dict[str, Any], wanted: dict[str, Any], sources: Sequence[str], options: PackOptions
) -> tuple[str | Setting, ...]:
    """`, with separator='x' as before`: the options that an earlier run set, and this one leaves at their defaults.

    The sources of this run must take each option beside its own options: the earlier run may have read other files.
    """
    before, now = _options(found), _options(wanted)
    kept: list[str | Setting] = []
    for name, _, spec in option_specs(PackOptions):
        usual, key = spec.default, spec.key or name
        value = before.get(key, usual)
        if value == usual or now.get(key, usual) != usual:
            continue
        value = tuple(value) if isinstance(value, list) else value
        if with_it := _with_option(name, value, sources, options):
            options = with_it
            kept += [" and " if kept else ", with ", Setting(name, value)]
    return (*kept, " as before") if kept else ()


_CHANGE_PARSING = {"format", "encoding", "text_key", "text_template"}
"""Options that only reading shows to fit a file."""


def _with_option(name: str, value: Any, sources: Sequence[str], options: PackOptions) -> PackOptions | None:
    """The options of a run with one more, where its sources take it; else None."""
    try:
        changed = replace(options, **{name: value})
        check_named_fields(sources, changed)
        if name == "val":
            by_rule(changed.val, source_names(sources))
        if name in _CHANGE_PARSING and sources[0] != STDIN:
            next(documents(sources[:1], changed), None)
    except SlmtokError:
        return None
    return changed


def _options(plan: dict[str, Any]) -> dict[str, Any]:
    """The options of packing and reading in a plan by their keys; `bos` and `eos` where they are not added."""
    options = plan["options"]
    read, frame = options.get("read"), FRAMES.get(str(options.get("frame")), (True, True))
    left_out = {role: False for role, is_added in zip(("bos", "eos"), frame, strict=True) if not is_added}
    return {**options, **(read if isinstance(read, dict) else {}), **left_out}


def _fields(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of each value in nested JSON; lists are values of their own unless they hold objects."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _fields(inner, f"{where}.{key}".lstrip("."))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, inner in enumerate(value):
            yield from _fields(inner, f"{where}[{index}]")
    else:
        yield where, value


def _shorten(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)} values"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + '…"'
