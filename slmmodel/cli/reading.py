"""How text is read: the corpus options of `slmtok pack` as flags, as settings `data.read.*`, and as a run records them.

Flags win over a configuration file. A run records the options that are not at their defaults, so that `slm resume` and
`slm eval` read the same documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.text import is_text
from slmmodel.config import Setting, Settings, nested
from slmmodel.data_config import DataSource
from slmmodel.errors import CorruptFile, OptionError, unknown_setting
from slmmodel.run_entries import CONFIG
from slmtok.cli.needed import NEVER
from slmtok.cli.options import Decorator, options_of
from slmtok.errors import SlmtokError
from slmtok.option_values import escape, parse_escapes
from slmtok.options import ReadOptions, build_options, changed_options, flag_of, option_specs, parse_options

PREFIX = "data.read."


def corpus_options_of(needs: str | None = None) -> Decorator:
    """The options of a corpus, which have no effect without `needs`.

    Of `--sample`, the seed is `data.read.seed`: `--seed` is that of the run.
    """
    needed = {name: needs for name, _, _ in option_specs(ReadOptions) if needs is not None}
    return options_of(ReadOptions, into="read", skip=("seed",), needs={**needed, "domains": NEVER})


corpus_options = corpus_options_of()


def setting_names() -> list[str]:
    """The settings `data.read.*`."""
    return [PREFIX + name for name, _, _ in option_specs(ReadOptions)]


def merge(given: Settings, read: ReadOptions) -> tuple[Settings, ReadOptions]:
    """The settings with all options of reading, those of flags last; and the options. Raises what the options raise."""
    known = setting_names()
    of_text = {name: setting for name, setting in given.items() if name.startswith(PREFIX)}
    for name, setting in of_text.items():
        if name not in known and not name.startswith(f"{PREFIX}domains."):
            raise unknown_setting(name, known, setting.where)
    table = nested(of_text).get("data", {}).get("read", {})
    merged = parse_options(ReadOptions, {**table, **to_record(read)})
    others = {name: setting for name, setting in given.items() if name not in of_text}
    flags = to_record(read)
    recorded = {
        f"{PREFIX}{name}": Setting(value, _place(of_text, name) if name not in flags else flag_of(name))
        for name, value in to_record(merged).items()
    }
    return {**others, **recorded}, merged


def _place(of_text: Settings, name: str) -> str:
    """Where a setting `data.read.*`, or one inside of it, was given."""
    return next(each.where for full, each in of_text.items() if f"{full}.".startswith(f"{PREFIX}{name}."))


def of_source(read: ReadOptions, given: Mapping[str, Any], path: str) -> ReadOptions:
    """The options of one source of `data.train`: its own over those of all. Raises what the options raise."""
    check_keys(given, path)
    return parse_options(ReadOptions, {**to_record(read), **given})


def check_keys(given: Iterable[str], path: str) -> None:
    """Raises `InvalidConfig` for a key of a source of `data.train` that is no option of reading."""
    known = [name for name, _, _ in option_specs(ReadOptions)]
    for name in given:
        if name not in known:
            raise unknown_setting(name, [*DataSource.model_fields, *known], f"data.train: {path}")


def to_record(read: ReadOptions) -> dict[str, Any]:
    """The options that are not at their defaults, as values of YAML."""
    return {name: _plain(getattr(read, name)) for name in _changed(read)}


def recorded(run: RunFolder) -> ReadOptions:
    """The options by which a run reads text. Raises `CorruptFile` for what no option takes."""
    try:
        return build_options(ReadOptions, None, run.config["data"].get("read", {}))
    except SlmtokError as error:
        fact, fix = str(error).partition("\n")[0], "restore the run folder from where it was copied"
        raise CorruptFile(f"{CONFIG} has a wrong data.read: {fact}", where=str(run.path / CONFIG), fix=fix) from None


def require_text(read: ReadOptions, path: str | None, given: Settings | None = None) -> None:
    """Raises `OptionError` for options of reading where `path` is no text; None is an `--on` that was not given.

    given: the settings of `merge`, some of which a file or `--set` may have.
    """
    names = _changed(read)
    if names and (path is None or not is_text(path)):
        flag = flag_of(names[0])
        setting = (given or {}).get(f"{PREFIX}{names[0]}")
        where = setting.where if setting is not None and setting.where != flag else None
        flag = flag if where is None else f"{PREFIX}{names[0]}"
        raise OptionError(
            f"{flag} says how text is read, and {'--on is not given' if path is None else f'{path!r} is no text'}",
            where=where,
            limit="files, folders, globs, hf:NAME or - for stdin",
            fix=f"leave {flag} out" + ("" if path is not None else ", or --on TEXT"),
            option=names[0],
        )


def to_flags(read: ReadOptions) -> list[str]:
    """The options as arguments of a command line."""
    found: list[str] = []
    for name, value in to_record(read).items():
        flag = flag_of(name)
        if value is True:
            found.append(flag)
            continue
        if isinstance(value, Mapping):
            value = [f"{domain}={glob}" for domain, globs in value.items() for glob in globs]
        for each in value if isinstance(value, list) else [value]:
            found += [flag, escape(each) if name in _ESCAPED else str(each)]
    return found


_ESCAPED = {name for name, _, spec in option_specs(ReadOptions) if spec.parse is parse_escapes}


def _changed(read: ReadOptions) -> list[str]:
    return changed_options(read, [name for name, _, _ in option_specs(ReadOptions)])


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return list(value) if isinstance(value, tuple) else value
