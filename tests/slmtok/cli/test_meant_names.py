"""Names that stand for something else than they say: tokenizers, special tokens, domains and limits of zero."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from printed_fixes import fix_of, fix_of_line

STORY = "The evening river went through the old town, and the children sang.\n"


@pytest.fixture
def files(slmtok) -> None:
    for language in ("en", "fi", "hi"):
        Path(f"lang/{language}").mkdir(parents=True)
        Path(f"lang/{language}/a.txt").write_text(STORY * 9)
    Path("a.txt").write_text(STORY * 9)
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "made.json").code == 0


def test_only_a_tokenizer_is_proposed_for_a_missing_one(slmtok, files) -> None:
    Path("book.json").write_text("{}")
    Path("tok2.jsonl").write_text("{}")
    line = "pack a.txt -t {} -o data"
    made = "check the name, or make a tokenizer: slmtok train CORPUS -o "
    assert fix_of_line(slmtok, line.format("tok.json")) == f"{made}tok.json"
    assert fix_of_line(slmtok, line.format("books.json")) == f"{made}books.json"
    Path("book.json").unlink()
    Path("tok9.json").write_bytes(Path("made.json").read_bytes())
    assert fix_of_line(slmtok, line.format("tok.json")) == "check the name: there is 'tok9.json'"
    Path("tokens").mkdir()
    Path("tokens/tok.json").write_bytes(Path("made.json").read_bytes())
    assert fix_of_line(slmtok, line.format("token")) == "check the name: there is 'tokens'"


@pytest.mark.parametrize("name", ["EOS", "Eos", "eos_token"])
def test_a_role_in_other_letters_is_that_role(slmtok, files, name: str) -> None:
    line = f"encode a.txt -t made.json -o a.ids --allow-special {name}"
    assert fix_of_line(slmtok, line) == "--allow-special eos"
    fix = fix_of_line(slmtok, f"{line},tool")
    assert fix == (
        "slmtok set-special made.json 'tool=<|tool|>' -o with-special.json "
        "# and name -t with-special.json --allow-special eos,tool"
    )
    assert slmtok(*shlex.split(fix.partition(" #")[0])[1:]).code == 0
    ran = slmtok("encode", "a.txt", "-t", "with-special.json", "--allow-special", "eos,tool", "-o", "a.ids")
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    ("corpus", "globs"),
    [
        ("lang", ["en=en/**", "fi=fi/**", "hi=hi/**"]),
        ("lang/en/a.txt a.txt", ["NAME=GLOB"]),
        ("lang/en/a.txt lang/fi/a.txt", ["en=en/**", "fi=fi/**"]),
        ("a.txt", ["NAME=GLOB"]),
    ],
)
def test_domains_of_a_temperature_are_named_by_the_files(slmtok, files, corpus: str, globs: list[str]) -> None:
    line = f"train {corpus} --vocab 280 --temperature 5 -o tok.json"
    fix = fix_of_line(slmtok, line).partition(", with the text")[0]
    assert shlex.split(fix) == [word for glob in globs for word in ("--domain", glob)]
    if globs != ["NAME=GLOB"]:
        ran = slmtok(*shlex.split(f"{line} {fix}"))
        assert (ran.code, ran.err) == (0, "")


def test_a_weight_of_a_domain_that_is_not_named_names_its_files(slmtok, files) -> None:
    line = "train lang --vocab 280 -o tok.json --domain 'en=lang/en/*' --mix fi=2"
    assert fix_of_line(slmtok, line) == "--domain 'fi=fi/**' beside the others"
    ran = slmtok(*shlex.split(f"{line} --domain 'fi=fi/**'"))
    assert (ran.code, ran.err) == (0, "")
    assert fix_of_line(slmtok, f"{line} --force".replace("fi=2", "english=2")) == "--mix en=2"
    assert fix_of_line(slmtok, f"{line} --force".replace("fi=2", "german=2")) == "use one of them"


def test_a_folder_after_a_colon_is_a_domain_of_its_files(slmtok, files) -> None:
    assert fix_of_line(slmtok, "train lang --vocab 280 -o tok.json --domain en:lang/en") == "--domain 'en=lang/en/**'"
    assert fix_of_line(slmtok, "train lang --vocab 280 -o tok.json --domain en/") == "--domain 'en=en/**'"
    assert fix_of_line(slmtok, "train lang --vocab 280 -o tok.json --domain en:en/") == "--domain 'en=en/**'"


def test_folders_of_a_text_are_its_domains(slmtok, files) -> None:
    """One domain of all would be what the measure says without it."""
    Path("lang/one.txt").write_text(STORY)
    each = [word for name in ("en", "fi", "hi") for word in ("--domain", f"{name}=lang/{name}/**")]
    for on, named in (
        ("lang", each),
        ("./lang/ a.txt", [*each, "--domain", "a=a.txt"]),
        ("lang/en", ["--domain", "en=lang/en/**"]),
    ):
        line = f"eval made.json --by domain {' '.join(f'--on {text}' for text in on.split())}"
        words = shlex.split(fix_of_line(slmtok, line).removesuffix(", for instance"))
        assert words == named
        ran = slmtok(*shlex.split(line), *words)
        assert ran.code == 0 and "matches no file" not in ran.err


@pytest.mark.parametrize(
    ("option", "fix"), [("--shard-tokens", "134217728"), ("--max-doc-bytes", "1073741824"), ("--max-docs", "1")]
)
def test_a_limit_of_zero_is_left_out(slmtok, files, option: str, fix: str) -> None:
    line = f"pack a.txt -t made.json -o data {option} 0"
    assert fix_of_line(slmtok, line) == f"leave it out, or {option} {fix}"


@pytest.mark.parametrize("command", ["show", "view"])
def test_a_text_that_names_a_folder_or_a_missing_file_is_said(slmtok, files, command: str) -> None:
    output = ["-o", "x.html"] if command == "view" else []
    end = " -o x.html --force" if output else ""

    def note(text: str) -> str:
        ran = slmtok(command, "made.json", text, *output, *["--force"] * bool(output))
        assert ran.code == 0
        return ran.err.removeprefix("note: ").partition("\n")[0] if ran.err.startswith("note: ") else ""

    line = f"slmtok {command} made.json -{end}"
    other = f"{line} < FILE shows the text of a file"
    assert note("lang") == f"'lang' was taken as the text, and is the name of a folder; {other}"
    assert note("contnt.jsonl") == f"'contnt.jsonl' was taken as the text, and no file has this name; {other}"
    assert note("lang/en/one").startswith("'lang/en/one' was taken as the text, and no file has this name; ")
    Path("content.jsonl").write_text("")
    meant = f"if 'content.jsonl' is meant, {line} < content.jsonl shows its text"
    assert note("contnt.jsonl") == f"'contnt.jsonl' was taken as the text, and no file has this name; {meant}"
    for text in ("and/or", "e.g.", "a b.txt", ".", "/", "3.14", "/s", "www.host.com"):
        assert not note(text), text


def test_a_share_of_one_document_is_all_of_it_or_none(slmtok, files) -> None:
    line = ("count", "a.txt", "-o", "x.counts", "--force")
    told = "a.txt is one document, which --sample 0.99 keeps or leaves out whole; run it again with --document line"
    assert f"note: {told}" in slmtok(*line, "--sample", "0.99").err
    assert "is one document" not in slmtok(*line, "--sample", "0.99", "--document", "line").err
    fix = "for the first 10 documents; a.txt is one document: --document line beside it for its lines\n"
    assert slmtok(*line, "--sample", "10").err.endswith(fix)
    for words in (["--document", "line"], ["--separator", "x"], ["lang"]):
        assert "is one document" not in slmtok(*line, "--sample", "10", *words).err


def test_a_limit_of_documents_that_one_document_does_not_reach(slmtok, files) -> None:
    note = "note: a.txt is one document, of which --max-docs 5 leaves nothing out; run it again with --document line"
    assert note in slmtok("count", "a.txt", "--max-docs", "5", "-o", "x.counts").err
    ran = slmtok("train", "a.txt", "--vocab", "280", "--max-docs", "2", "-o", "x.json")
    again = ran.err.partition("run it again with ")[2].partition(" for its lines, which may support fewer ids")[0]
    assert again == "--document line --allow-smaller --force"
    assert slmtok("train", "a.txt", "--vocab", "280", "--max-docs", "2", "-o", "x.json", *again.split()).code == 0
    ran = slmtok("count", "a.txt", "--max-docs", "5", "--document", "line", "-o", "y.counts")
    assert ran.code == 0 and "is one document" not in ran.err
    for line in ("lang --max-docs 5 -o z.counts", "a.txt --max-docs 1 -o v.counts", "a.txt -o w.counts"):
        ran = slmtok("count", *line.split())
        assert ran.code == 0 and "is one document" not in ran.err


def test_a_file_that_is_not_in_the_home_folder_either(slmtok, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("home").mkdir()
    Path("a.txt").write_text("text")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    ran = slmtok("train", "~/a.txt", "--vocab", "290", "-o", "new.json")
    assert fix_of(ran) == "name 'a.txt'" and f"{str(tmp_path / 'home/a.txt')!r} does not exist either" in ran.err
