"""README, guide and help promise ids and ratios: how long work takes depends on the machine.

The quickstart, which has an estimate for each of its stages, is `make quickstart` alone.
"""

from __future__ import annotations

import re

import pytest
from sources import ROOT

from slmmodel.cli import APP as SLM
from slmtok.cli import APP as SLMTOK

PROMISE = re.compile(
    r"\b(takes?|in|under|within|about)\s+(?:\w+\s+){0,3}(seconds|minutes|hours)\b|[#=] (seconds|minutes)\b|: minutes\b",
    re.IGNORECASE,
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
FACTS = ("heartbeat for 30 seconds", "Time for each measurement")
"""Times that the program sets itself."""


def promises(text: str) -> list[str]:
    lines = (line for line in text.splitlines() if not any(fact in line for fact in FACTS))
    return [line for line in lines if PROMISE.search(line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_promise_no_time(page) -> None:
    assert promises(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("app", [SLMTOK, SLM], ids=lambda app: app.name)
def test_help_promises_no_time(app) -> None:
    assert promises(app.help_text()) == []
    for name in app.commands:
        command = app.command(name)
        texts = [command.help or "", *(getattr(param, "help", None) or "" for param in command.params)]
        assert promises("\n".join(texts)) == [], name


def test_a_promise_is_found() -> None:
    lines = ["runs in under three minutes", "it takes seconds", "in minutes on a CPU", "# seconds; x"]
    lines += ["without budget= minutes", "1.0 M: minutes on two cores"]
    assert promises("\n".join(lines)) == lines
