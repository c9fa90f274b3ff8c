"""Globs of `exclude` and `domains`."""

from __future__ import annotations

import time

import pytest

from slmtok.corpus.globs import matches


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("*.py", ["a.py", "x/a.py", "./x/y/a.py"], ["a.pyc", "a.py/b"]),
        ("src/*.py", ["src/a.py", "x/src/a.py"], ["src/a/b.py", "mysrc/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/a/b.py", "x/src/a/b/c.py"], ["a.py", "src/a.txt"]),
        ("src/**", ["src/a.py", "src/a/b"], ["src", "a/b"]),
        ("/data/*.txt", ["/data/a.txt"], ["/x/data/a.txt", "data/a.txt"]),
        ("a?[0-9].txt", ["ab3.txt"], ["a/3.txt", "abc.txt", "ab.txt"]),
        ("[!a]*.t", ["b1.t"], ["a1.t"]),
        ("[]x].t", ["].t", "x.t"], ["y.t"]),
        ("a[b", ["a[b"], ["ab"]),
        ("a.b", ["a.b"], ["axb"]),
        ("**/*.md", ["a.md", "x/a.md"], ["a.txt"]),
        ("[a-c&&b]", ["a", "&", "b"], ["d"]),
        ("[z-a].t", [], ["a.t", "z.t", "-.t"]),
        ("[c-ab].t", ["b.t"], ["a.t", "c.t"]),
        ("[!z-a].t", ["a.t", "z.t"], ["/.t", ".t"]),
        ("[/*].t", ["*.t"], ["/.t", "a.t"]),
        ("x**/b", ["x/b", "xy/b", "xy/z/b"], ["xb", "b"]),
        ("a*b**b*c", ["abbc", "axb/y/bzc"], ["abc", "ab/bc/"]),
        ("a/**/b*/**/c", ["a/b/c", "a/x/b1/y/z/c", "a/b/b/c"], ["a/c", "a/b/x/cc"]),
        ("a**", ["a", "ab/c"], ["b/ba"]),
        ("*a*b/*c", ["xaxb/c", "ab/xcc"], ["ba/c", "ab/x/c"]),
    ],
)
def test_globs(glob: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes if not matches(path, glob)] == []
    assert [path for path in no if matches(path, glob)] == []


EXPONENTIAL = ["*a" * 30 + "*b", "**a" * 30 + "**b", "**/a*" * 30 + "b", "**/*a*a" * 20 + "/b", "**a*b" * 30 + "**c"]


@pytest.mark.parametrize("glob", EXPONENTIAL)
def test_matching_takes_linear_time(glob: str) -> None:
    begin = time.monotonic()
    assert not matches("a" * 240 + ".txt", glob)
    assert not matches("a/" * 120 + "a.txt", glob)
    assert time.monotonic() - begin < 5
