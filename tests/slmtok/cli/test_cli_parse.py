"""The grammar of command lines, on a command of its own."""

from __future__ import annotations

from typing import Annotated

import pytest

from slmtok.cli._declare import Argument, Option, parameters
from slmtok.cli._help import show_help
from slmtok.cli._numbers import whole
from slmtok.cli._parse import parse
from slmtok.errors import InvalidOption


def sort_eggs(
    basket: Annotated[str, Argument(metavar="BASKET", help="Where they are.")],
    eggs: Annotated[list[str] | None, Argument(metavar="EGG", help="Which.")] = None,
    by_size: Annotated[int, Option("--by-size", "--by", "-s", metavar="N", parser=whole, help="How large.")] = 3,
    label: Annotated[str | None, Option("--label", metavar="TEXT", help="What to write.")] = None,
    spot: Annotated[list[str] | None, Option("--spot", metavar="COLOUR", help="Repeat for several.")] = None,
    gently: Annotated[bool, Option("--gently", "-g", help="Not at all fast.")] = False,
) -> None:
    """Sort eggs."""


DEFAULTS = {"basket": "b", "eggs": None, "by_size": 3, "label": None, "spot": None, "gently": False}


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (["b"], {}),
        (["b", "x", "y"], {"eggs": ["x", "y"]}),
        (["--by-size", "7", "b"], {"by_size": 7}),
        (["b", "--by_size=7"], {"by_size": 7}),
        (["b", "--by", "7", "x"], {"by_size": 7, "eggs": ["x"]}),
        (["b", "-s7"], {"by_size": 7}),
        (["b", "-s", "7", "-g"], {"by_size": 7, "gently": True}),
        (["b", "--label", "-"], {"label": "-"}),
        (["b", "--label", "--gently"], {"label": "--gently"}),
        (["b", "--label=a=b"], {"label": "a=b"}),
        (["b", "--label="], {"label": ""}),
        (["b", "--label", "a_b"], {"label": "a_b"}),
        (["b", "--spot", "red", "--spot=blue"], {"spot": ["red", "blue"]}),
        (["b", "--label", "one", "--label", "two"], {"label": "two"}),
        (["-", "-"], {"basket": "-", "eggs": ["-"]}),
        (["--", "--gently", "-s"], {"basket": "--gently", "eggs": ["-s"]}),
    ],
)
def test_what_is_read(words, changed):
    assert parse("sort-eggs", parameters(sort_eggs), words) == {**DEFAULTS, **changed}


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        ([], "BASKET is missing"),
        (["b", "--by-size"], "--by-size needs a value"),
        (["b", "--by-size", "seven"], "--by-size takes a whole number from 0 up, not 'seven'"),
        (["b", "-s", "x"], "--by-size takes a whole number from 0 up, not 'x'"),
        (["b", "--gently=yes"], "--gently takes no value"),
        (["b", "--gentle"], "unknown option '--gentle'; did you mean '--gently'?"),
        (["b", "--by-siz", "3"], "unknown option '--by-siz'; did you mean '--by-size'?"),
        (["b", "--frob"], "unknown option '--frob'"),
        (["b", "-x"], "unknown option '-x'"),
    ],
)
def test_what_is_refused(words, fact):
    with pytest.raises(InvalidOption) as caught:
        parse("sort-eggs", parameters(sort_eggs), words)
    assert caught.value.fact == fact
    assert caught.value.where == "slmtok sort-eggs"


def test_an_argument_too_many():
    def one(basket: Annotated[str, Argument(metavar="BASKET", help="Where.")] = "b") -> None:
        """Has one."""

    with pytest.raises(InvalidOption, match="unexpected argument 'y'"):
        parse("one", parameters(one), ["x", "y"])


def test_help_shows_what_is_declared(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert show_help("sort-eggs", sort_eggs, parameters(sort_eggs)) == 0
    out = capsys.readouterr().out
    for word in ("slmtok sort-eggs", "Sort eggs.", "BASKET", "--by-size", "--gently", "How large.", "COLOUR"):
        assert word in out
