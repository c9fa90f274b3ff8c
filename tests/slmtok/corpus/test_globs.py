"""Globs of `exclude` and `domains`."""

from __future__ import annotations

import glob
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slmtok.corpus.globs import expand, matches


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


PARTS = st.sampled_from(["**", "*", "a", "b*", "?", "[ab]", "*.t", ".*", "..", "."])


@given(
    files=st.lists(st.lists(st.sampled_from(["a", "b", "ab", "x.t", ".h"]), min_size=1, max_size=4), max_size=8),
    pattern=st.lists(PARTS, min_size=1, max_size=5),
)
def test_expanded_as_by_python(files: list[list[str]], pattern: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # As deep as a pattern may go up.
        base = Path(folder, *"12345")
        base.mkdir(parents=True)
        for file in files:
            with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
                place = base.joinpath(*file)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text("")
        text = "/".join([str(base), *pattern])
        found = expand(text), glob.glob(text, recursive=True)  # noqa: PTH207
        ours, python = ({os.path.normpath(path) for path in paths if Path(path).is_file()} for paths in found)
        assert ours == python


def test_each_folder_is_listed_once_for_each_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path.joinpath(*"a" * 40)
    deep.mkdir(parents=True)
    (deep / "x.t").write_text("")
    listed, scandir = list[str](), os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (listed.append(path), scandir(path))[1])
    assert expand(f"{tmp_path}/" + "**/" * 9 + "*.t") == [str(deep / "x.t")]
    assert len(listed) < 9 * 42 * 42


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_links_to_folders_that_hold_them(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.t").write_text("")
    for name in ("up", "self", "again"):
        (tmp_path / "a" / name).symlink_to("." if name == "self" else "..")
    (tmp_path / "b").symlink_to("a")
    assert sorted(expand(f"{tmp_path}/**/*.t")) == [f"{tmp_path}/a/x.t", f"{tmp_path}/b/x.t"]
