"""Sources `hf:NAME[:CONFIG][@SPLIT]`: data sets of the package `datasets`, from its hub, its cache or a folder.

When to pick it: a data set that is known by a name, or one that `save_to_disk` has written. Price: the packages
`datasets` and pyarrow (extra `data`). Promise: the network is used because `hf:NAME` asks for it, never otherwise; the
rows come in the order of the data set, map-style or streaming. Without `@SPLIT` it is the split `train`, or the
only one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slmtok.corpus.arrow_rows import missing_column, texts
from slmtok.corpus.paths import HUGGING_FACE, is_saved
from slmtok.errors import InvalidOption, MissingExtra, MissingInput, SlmtokError

if TYPE_CHECKING:
    from slmtok.corpus.options import ReadOptions
    from slmtok.corpus.selection import Skipped

_ROWS = 1000


class Named(NamedTuple):
    """What a source names."""

    name: str
    config: str | None
    split: str | None


def parse(source: str) -> Named:
    """The parts of `hf:NAME[:CONFIG][@SPLIT]`. Raises `InvalidOption` where the name is missing."""
    rest = source.removeprefix(HUGGING_FACE)
    if Path(rest).exists():
        return Named(rest, None, None)
    head, _, split = rest.partition("@")
    name, _, config = head.partition(":")
    if not name:
        raise InvalidOption(
            f"{source!r} names no data set",
            limit="hf:NAME[:CONFIG][@SPLIT]",
            fix="hf:roneneldan/TinyStories@train, for instance",
            option="corpus",
        )
    return Named(name, config or None, split or None)


@contextmanager
def opened(source: str, options: ReadOptions) -> Iterator[Any]:
    """A data set of one split. Raises `MissingExtra`, `MissingInput` for what `datasets` cannot find or load."""
    named = parse(source)
    try:
        import datasets
    except ImportError:
        raise MissingExtra(
            f"{source!r} needs the package datasets, which is not installed",
            fix="pip install 'slmtok[data]'",
            package="datasets",
        ) from None
    try:
        with _quiet(datasets):
            data = _loaded(datasets, named, options)
            yield _one_split(data, named, source)
    except SlmtokError:
        raise
    except Exception as error:
        # The package raises whatever its parts raise: of hubs, archives, scripts. Their first line says what it was.
        told = (str(error).splitlines() or [type(error).__name__])[0]
        raise MissingInput(
            f"cannot load the data set {named.name!r}: {told}",
            where=source,
            fix="check name, configuration and split: hf:NAME[:CONFIG][@SPLIT]",
            path=source,
        ) from error


@contextmanager
def _quiet(datasets: Any) -> Iterator[None]:
    """No progress bars of the package but on a terminal."""
    shown = sys.stderr is not None and sys.stderr.isatty()
    if shown or datasets.are_progress_bars_disabled():
        yield
        return
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.enable_progress_bars()


def _loaded(datasets: Any, named: Named, options: ReadOptions) -> Any:
    if is_saved(named.name):
        return datasets.load_from_disk(named.name)
    return datasets.load_dataset(
        named.name,
        named.config,
        split=named.split,
        streaming=options.streaming,
        cache_dir=None if options.cache_dir is None else str(options.cache_dir),
    )


def _one_split(data: Any, named: Named, source: str) -> Any:
    """Of several splits the one that is asked for, else `train`, else the only one. Raises `MissingInput`."""
    if not isinstance(data, dict):
        return data
    names = sorted(map(str, data))
    wanted = named.split or ("train" if "train" in names or len(names) != 1 else names[0])
    if wanted not in names:
        raise MissingInput(
            f"the data set {named.name!r} has no split {wanted!r}",
            where=source,
            limit=f"splits: {', '.join(names)}",
            fix=f"hf:{named.name}@{names[0]}" if names else "name another data set",
            path=source,
        )
    return data[wanted]


def read(data: Any, source: str, options: ReadOptions, skipped: Skipped) -> Iterator[bytes]:
    """The text of every row. Raises `MalformedRecord`; for single rows, unless skipping."""
    template = options.template
    if data.column_names is not None:
        absent = missing_column(template, data.column_names, source)
        if absent is not None:
            raise absent
        data = data.select_columns(list(dict.fromkeys(template.fields)))
    row = 0
    for table in data.with_format("arrow").iter(batch_size=_ROWS):
        absent = missing_column(template, table.column_names, source)
        if absent is not None:
            raise absent
        for text in texts(table, template):
            row += 1
            if isinstance(text, bytes):
                yield text
            elif options.skip_malformed:
                skipped.records += 1
            else:
                text.where = f"{source}, row {row:,}"
                text.fields.update(path=source, row=row)
                raise text
