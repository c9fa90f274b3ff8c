"""Reading corpora: containers, damaged archives, malformed records, folders and globs."""

from __future__ import annotations

import errno
import gzip
import json
import lzma
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

import slmtok
from slmtok import corpus as slmtok_corpus
from slmtok import errors
from slmtok.corpus import FORMATS, Skipped, documents, expand, find, format_of
from slmtok.options import ReadOptions

DOCUMENTS = ["first one", "second\r\none", "", "harmadik: őzike", "x" * 100_000]


def records(texts: list[str], key: str = "text") -> bytes:
    return b"".join(json.dumps({"id": 1, key: text}).encode() + b"\n" for text in texts)


def read(*paths: Path, **options: object) -> list[bytes]:
    return list(documents(map(str, paths), ReadOptions(**options)))  # type: ignore[arg-type]


def test_same_documents_from_five_containers(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for index, text in enumerate(DOCUMENTS):
        (folder / f"{index}.txt").write_bytes(text.encode())
    (tmp_path / "a.jsonl").write_bytes(records(DOCUMENTS))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(records(DOCUMENTS)))
    packed = zstandard.compress(records(DOCUMENTS[:2])) + zstandard.compress(records(DOCUMENTS[2:]))
    (tmp_path / "c.jsonl.zst").write_bytes(packed)
    (tmp_path / "e.jsonl.xz").write_bytes(lzma.compress(records(DOCUMENTS[:1])) + lzma.compress(records(DOCUMENTS[1:])))
    (tmp_path / "d.ndjson").write_bytes(b"\n  \n" + records(DOCUMENTS)[:-1])
    wanted = [text.encode() for text in DOCUMENTS]
    assert read(*map(Path, expand(folder))) == wanted
    for name in ("a.jsonl", "b.jsonl.gz", "c.jsonl.zst", "d.ndjson", "e.jsonl.xz"):
        assert read(tmp_path / name) == wanted, name


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n\ntwo\r\nthree")
    assert read(path, document="line") == read(path, format="lines") == [b"one", b"", b"two\r", b"three"]
    path.write_bytes(b"one\n")
    assert read(path, document="line") == [b"one"]


def test_format_by_name() -> None:
    auto = ReadOptions()
    names = {
        "a.txt": "text",
        "b.jsonl.zst": "jsonl",
        "c.JSONL.GZ": "jsonl",
        "d.py": "text",
        "e": "text",
        "f.txt.gz": "text",
        "g.tsv.xz": "tsv",
        "h.parquet": "parquet",
        "hf:a/b@c": "hugging_face",
    }
    assert {path: format_of(path, auto).name for path in names} == names
    assert format_of("a.jsonl", ReadOptions(format="text")).name == "text"
    assert format_of("a.jsonl", ReadOptions(document="line")).name == "jsonl"
    assert sorted(FORMATS) == ["csv", "hugging_face", "json", "jsonl", "lines", "parquet", "text", "tsv"]
    with pytest.raises(errors.OptionError, match="arrow"):
        format_of("a.arrow", auto)
    with pytest.raises(errors.OptionError, match="'jsonl'"):
        ReadOptions(format="jsnl")
    with pytest.raises(errors.OptionError, match="document"):
        ReadOptions(document="page")  # type: ignore[arg-type]


BAD = {
    "not utf-8": (b'{"text": "caf\xe9"}', r"not valid UTF-8 \(byte 0xE9 at column 14\)"),
    "not json": (b'{"title":"A" "text":"B"}', r"not JSON: .*at column 14, near …"),
    "no field": (b'{"id": 1, "body": "x", "n": 2}', r"no field 'text' \(fields: body, id, n\)(.|\n)*row.get\(.*body"),
    "not text": (b'{"text": 3}', "is a number, not text"),
    "null": (b'{"text": null}', "is null, not text"),
    "no object": (b'["text"]', "not a JSON object but a list"),
    "surrogate": (b'{"text": "a\\ud800"}', r"lone surrogate U\+D800 at character 1"),
    "deep": (b"[" * 100_000, "nests too deep"),
    "digits": (b'{"text": ' + b"9" * 5000 + b"}", "is a number, not text"),
}  # fmt: skip


@pytest.mark.parametrize("fault", BAD)
def test_malformed_record(tmp_path: Path, fault: str) -> None:
    line, match = BAD[fault]
    path = tmp_path / "b.jsonl"
    path.write_bytes(records(["good"]) + line + b"\n" + records(["better"]))
    with pytest.raises(errors.MalformedRecord, match=match) as caught:
        read(path)
    assert f"{path}, line 2" in str(caught.value)
    assert caught.value.fields["line"] == 2
    skipped = Skipped()
    found = list(documents([str(path)], ReadOptions(skip_malformed=True), skipped))
    assert (found, skipped.records) == ([b"good", b"better"], 1)


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="this Python has no such limit")
@pytest.mark.parametrize("limit", [0, 640])
def test_integers_are_read_alike_whatever_python_converts(tmp_path: Path, limit: int) -> None:
    number = "-" + "7" * 5000
    line = f'{{"text": "a", "n": {number}}}'
    for name, content in {"a.jsonl": line, "a.json": f"[{line}]"}.items():
        (tmp_path / name).write_text(content)
    before = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(limit)
        for name in ("a.jsonl", "a.json"):
            assert read(tmp_path / name) == [b"a"]
            assert read(tmp_path / name, text_template="{n}") == [number.encode()]
            with pytest.raises(errors.MalformedRecord, match="'n' of the record is a number, not text"):
                read(tmp_path / name, text_key="n")
    finally:
        sys.set_int_max_str_digits(before)


def test_text_key(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    path.write_bytes(records(["x"], "content"))
    assert read(path, text_key="content") == [b"x"]


def test_damaged_archives(tmp_path: Path) -> None:
    whole = records(DOCUMENTS * 3)
    files = {
        "cut.jsonl.gz": gzip.compress(whole)[:-20],
        "not.jsonl.gz": b"plain text",
        "cut.jsonl.xz": lzma.compress(whole)[:-20],
        "not.jsonl.xz": b"plain text",
        "cut.jsonl.zst": zstandard.compress(whole)[:-4],
        "not.jsonl.zst": b"plain text",
    }
    for name, data in files.items():
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(errors.Unreadable, match=name):
            read(path)


def test_expand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b/2.txt", "b/10.txt", "a.txt", ".hidden", ".git/x.txt", "c/deep/er.jsonl", "odd[1].txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    monkeypatch.chdir(tmp_path)
    assert expand(".") == ["./a.txt", "./b/10.txt", "./b/2.txt", "./c/deep/er.jsonl", "./odd[1].txt"]
    assert expand("b/*.txt") == ["b/10.txt", "b/2.txt"]
    assert expand("**/*.txt") == ["a.txt", "b/10.txt", "b/2.txt", "odd[1].txt"]
    assert expand("odd[1].txt") == ["odd[1].txt"]
    assert expand(["b/2.txt", Path("a.txt"), "b/2.txt"]) == ["b/2.txt", "a.txt", "b/2.txt"]
    assert expand("-") == ["-"]


def test_a_glob_of_another_kind_of_file_lists_the_kinds_that_are_there(tmp_path, monkeypatch) -> None:
    """One README among sources was taken for the files that were meant."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    for name in [*(f"{index}.py" for index in range(6)), "README.md"]:
        (tmp_path / "src" / name).write_text("text " * 9)
    kinds = "6 files ending .py, 1 file ending .md"
    for glob, where in (("src/*.rs", f"the folder src/ has {kinds}"), ("*.rs", f"its folders have {kinds}")):
        with pytest.raises(errors.MissingInput) as caught:
            expand(glob)
        assert (caught.value.where, caught.value.fix) == (where, "name files that are there, by their own ending")
    with pytest.raises(errors.MissingInput) as caught:
        expand("src/*.mdx")
    assert caught.value.fix == "'src/*.md'"
    with pytest.raises(errors.WrongType) as wrong:
        slmtok.Texts("src/*.py")
    assert wrong.value.fix == "'src/*.py' without Texts: it is a glob of files"


def test_no_match_lists_what_the_folder_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    for index in range(14):
        (tmp_path / "corpus" / f"{index}.jsonl.zst").write_bytes(b"")
    with pytest.raises(errors.MissingInput) as caught:
        expand("corpus/*.jsonl.gz")
    assert str(caught.value).splitlines() == [
        "no file matches 'corpus/*.jsonl.gz'",
        "  where: the folder corpus/ has 14 files ending .jsonl.zst",
        "  fix:   'corpus/*.jsonl.zst'",
    ]
    (tmp_path / "made.counts").write_bytes(b"")
    for pattern in ("nope*", "*.txt"):
        with pytest.raises(errors.MissingInput) as caught:
            expand(pattern)
        assert str(caught.value).endswith("fix:   check the name; paths are relative to the working folder")
    with pytest.raises(errors.MissingInput, match=r"no file or folder 'corpus/a\.txt'"):
        expand("corpus/a.txt")
    with pytest.raises(errors.MissingInput, match="there is no folder 'none'"):
        expand("none/a.txt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(errors.MissingInput, match="holds no file"):
        expand("empty")
    with pytest.raises(errors.MissingInput, match="empty"):
        expand([])
    with pytest.raises(errors.MissingInput, match="has no files"):
        expand("empty/x")


@pytest.mark.parametrize(
    ("pattern", "fix"),
    [
        ("d/**/*.{txt,md}", "name 'd/**/*.txt' 'd/**/*.md'"),
        ("d/**/*.{txt,TXT,jsonl}", "name 'd/**/*.txt'"),
        ("d/e/*.TXT", "'d/e/*.txt'"),
        ("d/*.MD", "'d/*.md'"),
    ],
)
def test_a_glob_of_a_shell_or_in_another_case(
    pattern: str, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d" / "e").mkdir(parents=True)
    for name in ("d/a.md", "d/e/b.txt"):
        (tmp_path / name).write_text("x")
    with pytest.raises(errors.MissingInput) as caught:
        expand(pattern)
    assert caught.value.fix == fix


def test_text_instead_of_a_path() -> None:
    for text in ("Once upon a time\nthere was", "word " * 100):
        with pytest.raises(errors.MissingInput, match=r"slmtok\.Texts"):
            expand(text)
    with pytest.raises(errors.WrongType, match=r"slmtok\.Texts"):
        expand([b"text"])  # type: ignore[list-item]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_a_link_to_nothing_is_no_part_left_out(tmp_path: Path) -> None:
    """The disk that it leads to is not mounted, perhaps."""
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").symlink_to(tmp_path / "gone" / "b.txt")
    for corpus in (tmp_path, tmp_path / "*.txt"):
        with pytest.raises(errors.MissingInput, match=r"b\.txt' is a link to '.*', which does not exist"):
            expand([str(corpus)])
    (tmp_path / "b.txt").rename(tmp_path / ".b.txt")
    assert len(expand([str(tmp_path)])) == 1


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_a_folder_is_read_through_links_as_a_glob_is(tmp_path: Path) -> None:
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").write_text("a")
    folder = tmp_path / "here"
    (folder / "more").symlink_to("../elsewhere")
    (folder / "self").symlink_to(".")
    found = expand([str(folder)])
    assert found == [str(folder / "here.txt"), str(folder / "more/elsewhere.txt")]
    assert found == expand([str(folder / "**")])
    (folder / "loop").symlink_to("loop")
    with pytest.raises(errors.MissingInput, match=r"loop' is a link to 'loop', which does not exist"):
        expand([str(folder)])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have shorter paths")
def test_folders_that_nest_deeper_than_the_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    depth = sys.getrecursionlimit() + 100
    monkeypatch.chdir(tmp_path)
    for _ in range(depth):
        os.mkdir("d")  # noqa: PTH102
        os.chdir("d")
    Path("a.txt").write_bytes(b"text")
    os.chdir(tmp_path)
    try:
        assert expand("d") == ["d/" * depth + "a.txt"]
        assert expand("d/**") == ["d/" * depth + "a.txt"]
    finally:
        # Removed level by level: removal by pytest is recursive.
        os.chdir("d/" * depth)
        Path("a.txt").unlink()
        for _ in range(depth):
            os.chdir("..")
            os.rmdir("d")  # noqa: PTH106


def test_a_folder_that_cannot_be_listed_is_no_part_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep" / "closed").mkdir(parents=True)
    (tmp_path / "deep" / "a.txt").write_text("a")
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(errors.Unreadable, match=r"cannot list the folder '.*closed': Permission denied"):
        expand(str(tmp_path / "deep"))


@pytest.mark.parametrize("function", [find, slmtok_corpus.read, documents])
def test_a_call_without_options(tmp_path: Path, function: Any) -> None:
    """The fix has what it imports, and the options that the call gave by name."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(records(["one", "two"], "body"))
    calls = [lambda: function(str(path), text_key="body"), lambda: function(path, text_key="body")]
    if function is not find:
        # One path in the place of the sources, with options.
        calls.append(lambda: next(function(str(path), ReadOptions(text_key="body"))))
    for call in calls:
        with pytest.raises(errors.WrongType) as caught:
            call()
        *imports, result = str(caught.value.fix).split("; ")
        names: dict[str, Any] = {}
        exec("; ".join(imports), names)
        found = list(eval(result, names))
        texts = {find: [str(path)], documents: [b"one", b"two"]}
        assert found == texts.get(function, [(b"one", 0, 0, 0), (b"two", 0, 1, 0)])
    with pytest.raises(errors.WrongType, match="lacks 'options'"):
        function()
    with pytest.raises(errors.UnknownOption, match="has no option 'txt_key'"):
        function(str(path), ReadOptions(), txt_key="body")


def test_the_text_of_a_document_is_an_attribute(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    options = ReadOptions()
    document = next(slmtok_corpus.read(find(tmp_path, options), options))
    with pytest.raises(errors.WrongType, match="no item 'text'") as caught:
        document["text"]  # type: ignore[call-overload]
    call, _, says = str(caught.value.fix).partition(", ")
    assert eval(call, {"result": document}) == b"one" == document[0]
    assert says == "bytes of the CorpusDocument result"
