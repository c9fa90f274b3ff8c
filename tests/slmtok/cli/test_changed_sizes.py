"""`slice`, `extend` and `prune` with a size in other words, with ids in a table, and for ids that are not ours."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

import slmtok as package

TEXT = "the cat is walking and singing in the morning. " * 20


@pytest.fixture
def here(slmtok, tmp_path: Path) -> Path:
    """A folder with a text and a tokenizer of 290 ids; it is the working folder."""
    (tmp_path / "a.txt").write_text(TEXT)
    package.train("a.txt", vocab_size=290).save("tok.json")
    return tmp_path


SLICE, EXTEND, PRUNE = (
    "slice tok.json --vocab",
    "extend tok.json a.txt --vocab",
    "prune tok.json --unused-on a.txt --keep",
)


@pytest.mark.parametrize(
    ("line", "value", "fix"),
    [
        (SLICE, "1k", "--vocab 272, for instance, of the 290 ids that tok.json has"),
        (SLICE, "0.28k", "--vocab 280"),
        (SLICE, "+5", "--vocab 272, for instance, of the 290 ids that tok.json has"),
        (SLICE, "0.98", "--vocab 284, of the 290 ids that tok.json has"),
        (PRUNE, "1k", "--keep 272, for instance, of the 290 ids that tok.json has"),
        (PRUNE, "half", "--keep 272, for instance, of the 290 ids that tok.json has"),
        (EXTEND, "+5", "--vocab 295, 5 more than the 290 of tok.json"),
        (EXTEND, "0.29k", "--vocab 435, for instance: more than the 290 ids that tok.json has"),
        (EXTEND, "50%", "--vocab 435, for instance: more than the 290 ids that tok.json has"),
        (EXTEND, "1k", "--vocab 1000, or --vocab 1024"),
    ],
)
def test_a_size_suits_the_tokenizer(slmtok, here, line, value, fix) -> None:
    ran = slmtok(*line.split(), value, "-o", "new.json")
    assert (ran.code, ran.err.splitlines()[-1]) == (2, f"  fix:   {fix}")
    if line != EXTEND or value == "+5":
        assert slmtok(*line.split()[:-1], *fix.partition(",")[0].split(), "-o", "new.json").code == 0


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("train a.txt --vocab 2^11", "--vocab 2048"),
        ("train a.txt --vocab 1Ki", "--vocab 1024"),
        ("train a.txt --vocab 1.5KiB", "--vocab 1536"),
        ("train a.txt --vocab 1M", "--vocab 1000000, or --vocab 1048576"),
        ("train a.txt --vocab 0x200", "--vocab 512"),
        ("train a.txt --vocab 290 --max-docs 10**3", "--max-docs 1000"),
        ("train a.txt --vocab 290 --max-token-length None", "--max-token-bytes 0, which is no limit; without it 64"),
        ("train a.txt --vocab 290 --max-token-chars none", "--max-token-chars 0, which is no limit"),
    ],
)
def test_powers_and_no_limit(slmtok, here, line, fix) -> None:
    ran = slmtok(*line.split(), "-o", "new.json")
    assert (ran.code, ran.err.splitlines()[-1]) == (2, f"  fix:   {fix}")
    at = line.rindex(" --")
    assert slmtok(*line[:at].split(), *fix.partition(",")[0].split(), "-o", "new.json", "--allow-smaller").code == 0


@pytest.mark.parametrize("options", ["--vocab 12x", "--vocab 290 --max-docs 12x"])
def test_an_unreadable_number_is_not_answered_with_another(slmtok, here, options) -> None:
    ran = slmtok("train", "a.txt", *options.split(), "-o", "new.json")
    fix = f"{options.rpartition(' ')[0].split()[-1]} N, with N a number in digits"
    assert (ran.code, ran.err.splitlines()[-1]) == (2, f"  fix:   {fix}")


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ("--keep 280", "leave --keep out, or name a text by --unused-on in place of --ids"),
        ("--unused-on a.txt", "leave --ids or --unused-on out"),
        ("--unused-on a.txt --keep 280", "leave --ids out"),
    ],
)
def test_what_is_left_out_beside_ids(slmtok, here, options, fix) -> None:
    Path("ids.txt").write_text("289\n")
    ran = slmtok("prune", "tok.json", "--ids", "ids.txt", *options.split(), "-o", "new.json")
    assert (ran.code, ran.err.splitlines()[-1]) == (2, f"  fix:   {fix}")


@pytest.mark.parametrize(
    "table", ["id,count\n288,1\n289,2\n", "288;1\n289;2", "288\tab\n289\tcd\n", "   288      2  a  1+2\n289  1  b"]
)
def test_a_table_of_ids_leads_to_its_first_column(slmtok, here, table) -> None:
    Path("dead.csv").write_text(table)
    ran = slmtok("prune", "tok.json", "--ids", "dead.csv", "-o", "new.json")
    fix = ran.err.splitlines()[-1].removeprefix("  fix:   where the first number of each line is the id to remove: ")
    line = "slmtok prune tok.json --ids prune-ids.txt -o new.json"
    assert fix == f"grep -oE '^ *[0-9]+' dead.csv > prune-ids.txt && {line}"
    subprocess.run(fix.partition(" && ")[0], shell=True, check=True)
    assert Path("prune-ids.txt").read_text().split() == ["288", "289"]
    assert slmtok(*shlex.split(line)[1:]).code == 0


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("slice t.json --vocab 280 -o new.json", "slmtok train CORPUS --vocab 280 -o new.json"),
        ("prune t.json --unused-on a.txt --force -o new.json", "slmtok train CORPUS --vocab 290 -o new.json --force"),
        ("extend t.json a.txt --vocab 295 -o new.json", "slmtok train a.txt --vocab 295 -o new.json"),
        ("slice t.json --vocab 200 -o new.json", "slmtok train CORPUS --vocab 272 -o new.json"),
    ],
)
def test_an_imported_tokenizer_keeps_its_ids(slmtok, here, line, fix) -> None:
    assert slmtok("export", "tok.json", "--output-format", "tiktoken", "-o", "tt", "--no-verify", "-q").code == 0
    Path("tt/tt.json").unlink()
    Path("t.json").unlink(missing_ok=True)
    imported = slmtok("import", "tt/tt.tiktoken", "--pattern", "slm", "-o", "t.json", "--no-verify", "-q")
    assert (imported.code, package.load("t.json").vocabulary.layout) == (0, "foreign")
    ran = slmtok(*line.split())
    assert (ran.code, Path("new.json").exists()) == (1, False)
    least = "; 272 ids are the least: 16 specials and 256 bytes" if "--vocab 200" in line else ""
    assert ran.err == (
        "error: a tokenizer of another library keeps its ids, which cannot be changed\n"
        "  where: t.json\n"
        f"  limit: tokenizers that slmtok trained (layout own, not foreign){least}\n"
        f"  fix:   {fix}\n"
    )


@pytest.mark.parametrize(
    ("line", "size", "fitting"),
    [("slice tok.json -o new.json", "500", "272"), ("extend tok.json a.txt -o new.json", "16384", "24750")],
)
def test_a_size_that_is_missing_suits_the_tokenizer(slmtok, here, monkeypatch, line, size, fitting) -> None:
    """The size of the example, 500, was proposed for a tokenizer of 290 ids, and refused."""
    is_slice = line.startswith("slice")
    for n_vocab, shown in ((290, fitting if is_slice else size), (16500, size if is_slice else fitting)):
        with monkeypatch.context() as changed:
            changed.setattr(package.Tokenizer, "n_vocab", n_vocab)
            ran = slmtok(*line.split())
        where = f"slmtok {line.split()[0]}"
        assert ran.err == f"error: --vocab is missing\n  where: {where}\n  fix:   slmtok {line} --vocab {shown}\n"
    if is_slice:
        assert slmtok(*line.split(), "--vocab", fitting).code == 0


def test_a_tokenizer_of_scheme_byte_is_replaced_by_one_that_learns(slmtok, here) -> None:
    bytewise = package.train("a.txt", scheme="byte")
    bytewise.save("b.json")
    ran = slmtok("extend", "b.json", "a.txt", "--vocab", "280", "-o", "new.json")
    fact, *_, fix = ran.err.splitlines()
    assert fact == "error: a tokenizer of scheme byte cannot be extended: the scheme learns nothing"
    assert fix == "  fix:   slmtok train a.txt --vocab 280 -o new.json"
    assert slmtok(*shlex.split(fix)[2:]).code == 0
    with pytest.raises(package.SlmtokError, match="cannot be extended"):
        package.extend(bytewise, package.count("a.txt", scheme="byte"), vocab_size=280)


def test_a_slice_has_no_lock_and_those_of_others_are_named(slmtok, here) -> None:
    package.slice(package.load("tok.json"), 280).save("s.json")
    ran = slmtok("reproduce", "s.lock")
    assert ran.err.startswith("error: no file 's.lock': s.json has no lock beside it\n  limit: slmtok train writes")
    assert "fix:   slmtok train CORPUS" in ran.err
    assert slmtok("train", "a.txt", "--vocab", "280", "-o", "t.json").code == 0
    fix = slmtok("reproduce", "s.lock").err.splitlines()[-1]
    assert fix == "  fix:   for a tokenizer with a lock: slmtok reproduce t.lock"
    assert slmtok(*fix.split()[-2:]).code == 0
