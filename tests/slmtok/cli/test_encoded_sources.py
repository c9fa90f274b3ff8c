"""Commands that notes and errors print for text in another encoding than UTF-8: pasted, they make it UTF-8."""

from __future__ import annotations

import codecs
import json
import subprocess
import warnings
from pathlib import Path

import pytest

import slmtok as package

RUSSIAN = "Тихий вечер, и дети поют на берегу реки"
SRT = "".join(f"{at}\r\n00:00:0{at},000 --> 00:00:0{at},500\r\n{RUSSIAN}\r\n\r\n" for at in range(1, 9))
PAGE = f'<!DOCTYPE html><html><meta charset="windows-1251"><p>{RUSSIAN} &mdash; {RUSSIAN}</p></html>\n'
XML = f'<?xml version="1.0" encoding="windows-1251"?>\n<a><b>{RUSSIAN}</b></a>\n'
CHATS = "".join(
    json.dumps({"messages": [{"role": "user", "content": f"{RUSSIAN} {at}"}]}, ensure_ascii=False) + "\n"
    for at in range(3)
)


def run_pasted(told: str) -> str:
    """Runs the command of a remedy; what is named then."""
    command, _, named = told.removesuffix(", with --force").rpartition(" # and name ")
    subprocess.run(["bash", "-c", command], check=True)
    assert named.endswith(" without --encoding")
    name = named.removesuffix(" without --encoding")
    return command.rpartition(" > ")[2] if name == "it" else name


def note_with(err: str, part: str) -> str:
    (note,) = [each for each in err.splitlines() if part in each]
    return note.partition(part)[2]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "cp1251"])
@pytest.mark.parametrize(
    ("name", "data", "part", "made"),
    [
        ("np.txt", f"{RUSSIAN}\r\n" * 9, "remove those at the ends of lines: ", f"{RUSSIAN}\n" * 9),
        ("np.txt", f"{RUSSIAN}\r" * 9, "to make line feeds of them: ", f"{RUSSIAN}\n" * 9),
        ("z.txt", f"{RUSSIAN}\0\n" * 9, "to remove them from text: ", f"{RUSSIAN}\n" * 9),
        ("u.srt", SRT, "its time codes were read as text; ", f"{RUSSIAN}\n\n" * 8),
        ("p.html", PAGE, "its tags were read as text; ", f"    {RUSSIAN} — {RUSSIAN}  \n\n"),
    ],
)
def test_a_command_converts_what_it_reads(slmtok, encoding: str, name: str, data: str, part: str, made: str) -> None:
    mark = "\ufeff" * (encoding == "utf-16-le")
    Path(name).write_bytes((mark + data).encode(encoding))
    ran = slmtok("count", name, "--encoding", encoding, "-o", "a.counts")
    assert ran.code == 0, ran.err
    target = run_pasted(note_with(ran.err, part))
    assert Path(target).read_text() == made
    ran = slmtok("count", target, "-o", "a.counts", "--force")
    assert ran.code == 0, ran.err
    assert not any(word in ran.err for word in ("UTF-8", "carriage", "zero", "read as text")), ran.err


@pytest.mark.parametrize("options", [["--encoding", "cp1251"], []])
def test_all_pages_of_a_folder_are_converted(slmtok, options: list[str]) -> None:
    """So where the encoding was not named, and all pages read as words in one."""
    Path("pages").mkdir()
    for at in range(3):
        Path(f"pages/p{at}.html").write_bytes(PAGE.encode("cp1251"))
    ran = slmtok("count", "pages", "-o", "a.counts", *options)
    named = run_pasted(note_with(ran.err, "their tags were read as text; "))
    assert named == "pages/*-text.txt"
    texts = [path.read_text() for path in Path().glob(named)]
    assert texts == [f"    {RUSSIAN} — {RUSSIAN}  \n\n"] * 3


@pytest.mark.parametrize(
    ("encodings", "made"),
    [
        # Files in UTF-8 stay as they are.
        (("cp1251", "utf-8"), ("utf-8", "utf-8")),
        (("cp1251", "koi8-r"), ("cp1251", "koi8-r")),
    ],
)
def test_pages_in_several_encodings_keep_their_bytes_or_become_utf_8(slmtok, encodings, made) -> None:
    for name, encoding in zip(("a.html", "b.html"), encodings, strict=True):
        Path(name).write_bytes(PAGE.replace("&mdash;", "").encode(encoding))
    note = note_with(slmtok("count", "a.html", "b.html", "-o", "a.counts").err, "were read as text; ")
    subprocess.run(["bash", "-c", note.partition(" # and name ")[0]], check=True)
    for name, encoding in zip(("a-text.txt", "b-text.txt"), made, strict=True):
        assert RUSSIAN in Path(name).read_bytes().decode(encoding)


@pytest.mark.parametrize("options", [["--encoding", "cp1251"], []])
def test_xml_that_declares_its_encoding_is_converted_once(slmtok, options: list[str]) -> None:
    Path("a.xml").write_bytes(XML.encode("cp1251"))
    ran = slmtok("count", "a.xml", "-o", "a.counts", *options)
    target = run_pasted(note_with(ran.err, "its tags were read as text; "))
    assert Path(target).read_text() == f"{RUSSIAN}\n"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("w.jsonl", CHATS),
        ("w.json", f"[{CHATS.strip().replace(chr(10), ',')}]"),
        ("w.json", json.dumps({"version": 1, "data": [*map(json.loads, CHATS.splitlines())]}, ensure_ascii=False)),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_records_of_chats_are_converted(slmtok, encoding: str, name: str, data: str) -> None:
    Path(name).write_bytes(("\ufeff" * (encoding == "utf-16-le") + data).encode(encoding))
    ran = slmtok("count", name, "--encoding", encoding, "-o", "a.counts")
    told = ran.err.rpartition("fix: ")[2].strip() if ran.code else note_with(ran.err, "its JSON was read as text; ")
    target = run_pasted(told)
    ran = slmtok("count", target, "-o", "a.counts", "--json", "--force")
    assert ran.json["result"]["documents"] == 3
    assert RUSSIAN in json.loads(Path(target).read_text().splitlines()[0])["text"]


def test_stdin_is_converted_before_a_program(slmtok) -> None:
    data = SRT.encode("utf-16")
    ran = slmtok("count", "-", "--encoding", "utf-16", "-o", "a.counts", stdin=data)
    told = note_with(ran.err, "were read as text; pipe it through ").removesuffix(", with --force")
    program, end = told.rsplit(", ", 1)
    assert end == "without --encoding"
    assert subprocess.run(["bash", "-c", program], input=data, check=True, capture_output=True).stdout.decode() == (
        f"{RUSSIAN}\n\n" * 8
    )


def test_comments_of_a_table_are_left_out_of_its_text(slmtok) -> None:
    Path("t.tsv").write_bytes(f"# a table\n1\t{RUSSIAN}\n2\t{RUSSIAN}\n".encode("utf-16"))
    ran = slmtok("count", "t.tsv", "--encoding", "utf-16", "--text-key", "2", "-o", "a.counts")
    target = run_pasted(ran.err.rpartition("fix: ")[2].strip())
    assert Path(target).read_text() == f"1\t{RUSSIAN}\n2\t{RUSSIAN}\n"


def test_python_names_the_keyword(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("u.srt").write_bytes(SRT.encode("utf-16"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        package.train("u.srt", vocab_size=280, encoding="utf-16")
    (note,) = [str(each.message) for each in caught if "time codes" in str(each.message)]
    assert note.endswith(" > u-text.txt # and name it without encoding")


JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"


@pytest.mark.parametrize(
    ("named", "text", "first", "superset"),
    [
        ("shift-jis", f"{JAPANESE}①髙\n{JAPANESE}\n", "①", "cp932"),
        ("gb2312", f"{'春天来了，花开了，孩子们在河边唱歌。' * 3}\u9555\n", "\u9555", "gb18030"),
        ("euc-kr", f"{'봄이 왔다. 꽃이 피었다. 아이들이 노래한다. ' * 3}똠방각하\n", "똠", "cp949"),
    ],
)
def test_an_encoding_with_more_characters_is_named(slmtok, named: str, text: str, first: str, superset: str) -> None:
    """Programs of Windows write such text under the name of the encoding with fewer."""
    data = text.encode(superset)
    Path("a.txt").write_bytes(data)
    ran = slmtok("count", "a.txt", "--encoding", named, "-o", "a.counts")
    codec = codecs.lookup(named).name
    assert f"where: a.txt, byte {data.index(first.encode(superset)):,}\n" in ran.err
    assert ran.err.endswith(f"fix:   --encoding {superset}, which is {codec} with more characters\n")
    assert slmtok("count", "a.txt", "--encoding", superset, "-o", "a.counts").code == 0
    note = slmtok("count", "a.txt", "-o", "b.counts").err
    assert f"run it again with --encoding {superset} --force" in note


@pytest.mark.parametrize(
    ("text", "encoding", "fix"),
    [
        (RUSSIAN, "cp1251", "--encoding cp1251, in which a.txt reads as words"),
        ("Ein größerer Käse für die Mädchen", "cp1252", "--encoding cp1252"),
        (RUSSIAN, "utf-8", "leave --encoding out: the text is UTF-8"),
    ],
)
def test_ansi_is_the_encoding_that_the_text_shows(slmtok, text: str, encoding: str, fix: str) -> None:
    Path("a.txt").write_bytes(f"{text}\n".encode(encoding) * 9)
    assert slmtok("count", "a.txt", "--encoding", "ansi", "-o", "a").err.endswith(f"fix:   {fix}\n")


@pytest.mark.parametrize("name", ["w.jsonl", "w.json"])
def test_a_byte_order_mark_before_records_is_left_out(slmtok, name: str) -> None:
    data = CHATS if name == "w.jsonl" else f"[{CHATS.strip().replace(chr(10), ',')}]"
    Path(name).write_bytes(data.encode("utf-8-sig"))
    command, _, named = slmtok("count", name).err.rpartition("fix: ")[2].strip().rpartition(" # and name ")
    subprocess.run(["bash", "-c", command], check=True)
    assert named == "it"
    assert slmtok("count", "w-text.jsonl", "--json").json["result"]["documents"] == 3
