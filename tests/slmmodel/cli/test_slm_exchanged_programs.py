"""Tokenizers in the place of runs, and runs in that of other files: the fix names the command that takes them."""

from __future__ import annotations

import re
import shlex
import shutil
from itertools import pairwise
from pathlib import Path

import click
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from slm_folder import make_folder

OTHER = "  # OTHER.losses stands for the losses of another run"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text, two tokenizers, packed data, pairs and a run of two steps."""
    import slmtok

    folder = make_folder(tmp_path_factory.mktemp("made"), "--no-eval")
    slmtok.slice(slmtok.load(folder / "tok.json"), 280).save(folder / "small.json")
    line = '{"sentence_good": "the fox saw", "sentence_bad": "fox the saw"}\n'
    (folder / "pairs.jsonl").write_text(line * 3)
    return folder


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "slm summary run": "slm info run",
        "slm stats tok.json": "slmtok info tok.json",
        "slmtok summary run": "slm info run",
        "slm check run": "slm doctor run",
        "slm check tok.json": "slm doctor tok.json",
        "slm history run -o c.svg": "slm plot run -o c.svg",
        "slmtok curves run -o c.svg": "slm plot run -o c.svg",
        "slm perplexity run": "slm eval run",
        "slm predict run --max-new 3": "slm sample run --max-new 3",
        "slm preprocess text.txt -t tok.json -o packed": "slmtok pack text.txt -t tok.json -o packed",
    }.items(),
)
def test_words_of_other_tools(here: Path, capsys: pytest.CaptureFixture[str], line: str, fix: str) -> None:
    import slmmodel.cli
    import slmtok.cli

    program, *words = line.split()
    main = slmtok.cli.main if program == "slmtok" else slmmodel.cli.main
    assert main(words) == 2
    assert f"  fix:   {fix}\n" in capsys.readouterr().err
    run_fix(fix)


def run_fix(fix: str) -> None:
    """Runs the commands of a fix; each succeeds."""
    import slmmodel.cli
    import slmtok.cli

    for line in fix.split(" && "):
        program, *words = shlex.split(line)
        assert (slmtok.cli if program == "slmtok" else slmmodel.cli).main(words) == 0, line


FIXES = {
    "export tok.json -o hh": "slmtok export tok.json -o hh --output-format hf",
    "eval tok.json --on text.txt": "slmtok eval tok.json --on text.txt",
    "report tok.json -o page.html": "slmtok report tok.json -o page.html",
    "compare tok.json small.json": "slmtok diff tok.json small.json",
    "pairs tok.json pairs.jsonl": "slm pairs run pairs.jsonl",
    "pairs tok.json pairs.jsonl --batch-size 2": "slm pairs run pairs.jsonl --batch-size 2",
}


@pytest.mark.parametrize("line", FIXES)
def test_a_tokenizer_in_the_place_of_a_run(slm, here, line: str) -> None:
    err = slm(*line.split()).err
    assert "is a tokenizer" in err or "are tokenizers" in err
    assert err.endswith(f"  fix:   {FIXES[line]}\n"), err
    # The comparison of an export takes ten seconds.
    run_fix(FIXES[line] + " --no-verify" * line.startswith("export"))


def test_a_command_of_runs_alone_keeps_its_name(slm, here) -> None:
    assert slm("passkey", "tok.json", code=2).err.endswith("  fix:   slm passkey run\n")


def test_a_run_among_losses_is_scored(slm, here) -> None:
    slm("eval", "run", "--losses", "a.losses", "-q", code=0)
    shutil.copytree("run", "run2")
    shutil.rmtree("run2/eval")
    line = "slm eval run2 --losses run2.losses && slm compare a.losses run2.losses"
    assert slm("compare", "a.losses", "run2", code=2).err.endswith(f"  fix:   {line}\n")
    run_fix(line)
    Path("held.txt").write_text("the tree saw a fox. ")
    slm("eval", "run", "--on", "held.txt", "--losses", "held.losses", "-q", code=0)
    Path("run2.losses").unlink()
    line = "slm eval run2 --on TEXT --losses run2.losses && slm compare held.losses run2.losses"
    err = slm("compare", "held.losses", "run2", code=2).err
    assert err.endswith(f"  fix:   {line}  # TEXT stands for the text that held.losses is of\n")
    run_fix(line.replace("TEXT", "held.txt"))
    once = "slm eval run --losses run.losses && slm compare run.losses OTHER.losses" + OTHER
    assert slm("compare", "run", "run", code=2).err.endswith(f"  fix:   {once}\n")
    assert "'none.losses' does not exist" in slm("compare", "none.losses", "run2", code=1).err


def test_losses_of_other_documents_are_not_proposed(slm, here) -> None:
    slm("eval", "run", "--losses", "a.losses", "-q", code=0)
    slm("eval", "run", "--on", "text.txt", "--losses", "b.losses", "--no-baselines", "-q", code=0)
    both = "slm eval RUN --losses b-2.losses && slm compare a.losses b-2.losses"
    assert slm("compare", "a.losses", code=2).err.endswith(f"  fix:   {both}\n")
    assert slm("compare", code=2).err.endswith("  fix:   slm compare A B\n")
    shutil.copy("a.losses", "c.losses")
    for words in ([], ["a.losses"]):
        line = "slm compare a.losses c.losses"
        assert slm("compare", *words, code=2).err.endswith(f"  fix:   {line}\n")
    run_fix(line)


def test_two_files_that_are_no_losses_are_named_at_once(slm, here) -> None:
    line = "slm eval run --losses run.losses && slm compare"
    for a, b, code in (("run", "run2", 1), ("run2", "run", 1), ("run", "data", 2), ("text.txt", "run", 2)):
        err = slm("compare", a, b, code=code).err
        named = "run.losses OTHER.losses" if a == "run" else "OTHER.losses run.losses"
        assert err.endswith(f"  fix:   {line} {named}{OTHER}\n")
        assert all(f"'{path}' {fault}" in err for path, fault in FAULTS.items() if path in (a, b))
    assert "'a.losses' does not exist and 'b.losses' does not" in slm("compare", "a.losses", "b.losses", code=1).err
    # The run of nearly that name is meant.
    shutil.copytree("run", "run-2")
    both = "slm eval run --losses run-a.losses && slm eval run-2 --losses run-2-b.losses"
    fix = f"{both} && slm compare run-a.losses run-2-b.losses"
    assert slm("compare", "run", "run2", code=1).err.endswith(f"  fix:   {fix}\n")
    run_fix(fix)


FAULTS = {
    "run": "is a run",
    "run2": "does not exist",
    "data": "is packed data",
    "text.txt": "is not a file of losses",
}


def test_a_certificate_of_other_data(slm, here) -> None:
    slm("eval", "run", "--on", "text.txt", "-q", code=0)
    certificate = "run/eval/text-all.json"
    line = f"slm eval run --check {certificate} -q --on text.txt"
    for on in ([], ["--on", "data"]):
        err = slm("eval", "run", "--check", certificate, "-q", *on, code=2).err
        assert f"error: {certificate!r} is about other documents, whose split is 'all'" in err
        assert "--split" not in err and err.endswith(f"  fix:   {line}\n")
    run_fix(line)
    Path("text.txt").rename("other.md")
    err = slm("eval", "run", "--check", certificate, code=2).err
    assert err.endswith(f"  fix:   slm eval run --check {certificate} --on TEXT\n")


def test_finetuning_is_going_on_with_a_run(slm, here) -> None:
    err = slm("finetune", "run", "data", code=2).err
    assert "goes on from a checkpoint of a run, with its model, tokenizer and data" in err
    longer = "slm resume run -o run-2 --budget steps=4"
    assert err.endswith(f"  fix:   {longer}\n")
    named = "slm resume run -o tuned --budget steps=3"
    assert slm("finetune", "data", "run", "-o", "tuned", "--budget", "steps=3", code=2).err.endswith(f" {named}\n")
    assert f"to go on with a run of slm: {longer}\n" in slm("train", "data", "--finetune", "run", code=2).err
    assert slm("finetune", "gone", "data", code=2).err.endswith("  fix:   slm resume RUN\n")
    run_fix(named)
    run_fix(longer)
    # Other data are kept, and a text is read with the tokenizer of the run.
    allowed = "--data text.txt --allow-mismatch data --allow-mismatch plan"
    for words in (["--data", "text.txt"], ["--data=text.txt"], ["text.txt"]):
        err = slm("finetune", "run", *words, "--budget", "steps=3", "-o", "text", code=2).err
        fix = f"slm resume run -o text {allowed} --budget steps=3"
        assert "tokenizer and data, or with other data\n" in err and err.endswith(f"  fix:   {fix}\n")
    run_fix(fix)
    # An unfinished run goes on itself.
    Path("run-2/result.json").unlink()
    assert slm("fine-tune", "run-2", code=2).err.endswith("  fix:   slm resume run-2\n")
    run_fix("slm resume run-2")


def test_the_vocabulary_of_another_program_is_kept(slm, here) -> None:
    import numpy as np

    Path("ids").mkdir()
    np.save("ids/ids.npy", np.arange(272, 290, dtype=np.uint16).repeat(40))
    Path("ids/vocab.json").write_text('{"a": 0, "b": 1}')
    err = slm("train", "ids/ids.npy", "-o", "new", code=1).err
    assert "vocab.json lacks the key 'format': it was not written by slmtok\n" in err
    assert err.endswith(
        "  fix:   mv -n ids/vocab.json ids/vocab-other.json && slmtok vocab TOK --metadata -o ids/vocab.json\n"
    )
    Path("ids/vocab.json").rename("ids/vocab-other.json")
    run_fix("slmtok vocab tok.json --metadata -o ids/vocab.json")
    slm("train", "ids/ids.npy", "-o", "new", "--dry-run", code=0)


NAMES_IN_EXAMPLES = {
    **dict.fromkeys(("corpus.txt", "corpus/", "more.txt", "val.jsonl"), "text.txt"),
    **dict.fromkeys(("old.json", "new.json", "a.json", "gpt2", "tiktoken:gpt2"), "tok.json"),
    **dict.fromkeys(("data/", "data"), "data"),
}
"""Files of `here` for those in examples; of the two arms of an ablation one stays missing, so that none is trained."""
FOREIGN_FILES = ("spm.model", "wordpiece.json", "old/merges.txt")
CALL = re.compile(r'(slmtok|slmmodel)\.\w+\(|(?<!python -c ")from slmtok')
"""Code that no shell runs."""


def lines_with(command: click.Command, other: str) -> list[list[str]]:
    """The example of a command with a file in the place of each of its inputs, and as its tokenizer."""
    words = shlex.split(str(getattr(command, "example", "")).partition(" > ")[0])[1:]
    words = [NAMES_IN_EXAMPLES.get(word, word) for word in words if word != "--open"]
    words = [f"new-{word}" if before == "-o" else word for before, word in pairwise(["", *words])]
    lines = [[*words[:at], other, *words[at + 1 :]] for at, word in enumerate(words) if Path(word).exists()]
    takes_tokenizer = any("-t" in param.opts for param in command.params)
    return [*lines, [*words, "-t", other]] if takes_tokenizer and "-t" not in words else lines


def test_no_command_prints_a_call_as_its_fix(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import slmmodel.cli
    import slmtok.cli

    (here / "spm.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02")
    (here / "wordpiece.json").write_text('{"version": "1.0", "model": {"type": "WordPiece", "vocab": {"[UNK]": 0}}}')
    (here / "old").mkdir()
    (here / "old/vocab.json").write_text('{"a": 0, "b": 1, "ab": 2}')
    (here / "old/merges.txt").write_text("#version: 0.2\na b\n")
    for program in (slmtok.cli, slmmodel.cli):
        for name in program.APP.commands.keys() - {"bench", "completion"}:
            for line in (line for other in FOREIGN_FILES for line in lines_with(program.APP.command(name), other)):
                program.main(line)
                printed = capsys.readouterr()
                assert not CALL.search(printed.out + printed.err), (program.__name__, line, printed)
