"""The fix that a command printed: one line, the last of its error."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slmtok import placeholders

_LABEL = "  fix:   "
_COMMENTS = re.compile(
    "|".join(f"(?: #|;) {word}: {meaning}".replace(" ", r"\s+") for word, meaning in placeholders.MEANINGS.items())
)


def without_comments(err: str) -> str:
    """An error without the comments on its placeholders, which tests/slmtok/test_placeholders.py reads."""
    return _COMMENTS.sub("", err)


def fix_in(err: str) -> str:
    """The fix of an error, which ends the text."""
    fixes = [line.removeprefix(_LABEL) for line in err.splitlines() if line.startswith(_LABEL)]
    assert len(fixes) == 1 and err.removesuffix("\n").endswith(f"{_LABEL}{fixes[0]}"), err
    return fixes[0]


def fix_of(ran: Any, *codes: int) -> str:
    """The fix of a command that ended with one of these codes, by default those of an error."""
    assert ran.code in (codes or (1, 2)), ran
    return fix_in(ran.err)


def refused(run: Callable[..., Any], line: str) -> Any:
    """What a command gave that is refused and leaves nothing."""
    before = {*Path().rglob("*")}
    ran = run(*shlex.split(line))
    assert ran.code in (1, 2), ran
    assert {*Path().rglob("*")} == before
    return ran


def fix_of_line(run: Callable[..., Any], line: str) -> str:
    """The fix of a command that is refused and leaves nothing."""
    return fix_in(refused(run, line).err)
