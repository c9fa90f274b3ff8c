"""Which files of a corpus are counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slmtok.errors import OptionError, Setting
from slmtok.file_kinds import COUNTS, kind_of_file

if TYPE_CHECKING:
    from slmtok.options import CountOptions


def counts_among(paths: Sequence[str]) -> list[str]:
    """The counts files among the sources of a corpus.

    Opening each of a million small files would be slow: only the first is checked, the others by name.
    """
    has_counts = bool(paths) and kind_of_file(paths[0]) == COUNTS
    checked = [path for path in paths if has_counts or path is paths[0] or path.endswith(".counts")]
    return [path for path in checked if kind_of_file(path) == COUNTS]


def refuse_reading(options: CountOptions) -> None:
    """Raises `OptionError` for an option of reading together with counts, whose text was read before."""
    from slmtok.options import ReadOptions, changed_options, option_specs

    if changed := changed_options(options, [name for name, _, _ in option_specs(ReadOptions)]):
        raise OptionError(
            (Setting(changed[0], getattr(options, changed[0])), " has no effect on counts, whose text was read before"),
            limit="options of reading belong to slmtok count",
            fix="leave it out",
            option=changed[0],
        )


def are_counts(paths: Sequence[str]) -> bool:
    """Whether the sources of a corpus are counts files. Raises `OptionError` for counts and text together."""
    counts = counts_among(paths)
    if counts and len(counts) < len(paths):
        raise OptionError(
            f"{counts[0]} is a counts file, and other files of the corpus are text",
            limit="counts, or text",
            fix="count the text first: slmtok count CORPUS -o more.counts",
            option="corpus",
        )
    return bool(counts)
