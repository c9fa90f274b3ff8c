"""`slm demo`: a text goes all the way, the tokenizer has not seen what is scored, and the number is proven again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from dying_commands import dying_commands

import slmtok
from slmmodel.cli import demo as slm_demo
from slmtok.stories import story

STAGES = {"shards", "import", "train", "score", "sample", "total"}


@pytest.fixture(scope="module")
def text() -> bytes:
    """A text of one document; its last tenth begins inside a word."""
    return "\n\n".join(story(index) for index in range(60)).encode()[:40_000]


@pytest.mark.usefixtures("short_samples")
def test_a_text_in_the_place_of_the_tokenizer_is_no_tokenizer(slm, text):
    Path("text.txt").write_bytes(text)
    more = ["-o", "new", "--vocab", "300", "--budget", "tokens=1024", "--threads", "1"]
    ran = slm("demo", "-t", "text.txt", *more, code=2)
    assert "TEXT is missing, and --tokenizer 'text.txt' is text, not a tokenizer\n" in ran.err
    fix = f"slm demo text.txt {' '.join(more)}"
    assert fix in ran.err
    slm(*fix.split()[1:], code=0)


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("train -t text.txt", "'text.txt' is text, and needs a tokenizer"),
        ("demo -t no.json", "no file 'no.json'"),
        ("eval -t text.txt", "fix:   slm eval RUN --on text.txt"),
        ("config --check -t text.txt", "--check needs a FILE of settings\n"),
    ],
)
def test_what_is_no_tokenizer_is_not_called_one(slm, text, line, fact):
    Path("text.txt").write_bytes(text)
    ran = slm(*line.split())
    assert ran.code in (1, 2)
    assert fact in ran.err
    assert "is a tokenizer" not in ran.err


@pytest.mark.usefixtures("short_samples")
def test_progress_names_what_takes_the_time(slm, text, monkeypatch):
    stages = []

    class Recorded(slm_demo.TrainProgress):
        def report(self, stage, *rest, **more):
            stages.append(stage)
            super().report(stage, *rest, **more)

    monkeypatch.setattr(slm_demo, "TrainProgress", Recorded)
    Path("text.txt").write_bytes(text)
    slm(*["demo", "text.txt", "--vocab", "300", "--budget", "steps=1", "--threads", "1", "-o", "new"], code=0)
    assert "loading torch" in stages and "import" not in stages, stages


@pytest.mark.usefixtures("short_samples")
def test_a_setting_is_of_training_on_the_data_of_a_demo(slm, text):
    Path("text.txt").write_bytes(text)
    line = "demo text.txt --vocab 300 --steps 1 --lr 1e-3 --threads 1 -o new"
    err = slm(*line.split(), code=2).err
    assert "unknown options: --steps, --lr\n" in err
    first, _, second = err.rpartition("fix:   ")[2].strip().partition(" && ")
    assert first == "slm demo text.txt --vocab 300 --budget steps=1 --threads 1 -o new"
    sets = "--preset cpu-demo --set optim.lr=1e-3 --budget steps=1 --threads 1"
    assert second == f"slm train new/data {sets} -o new-run"
    for pasted in (first, second):
        slm(*pasted.split()[1:], code=0)


@pytest.mark.usefixtures("short_samples")
def test_text_for_validation_is_scored_by_the_run_of_a_demo(slm, text):
    Path("text.txt").write_bytes(text)
    Path("held.txt").write_bytes(text[:2000])
    line = ["demo", "text.txt", "--vocab", "300", "--budget", "steps=1", "--threads", "1", "-o", "new"]
    err = slm(*line, "--val", "held.txt", code=2).err
    first, _, second = err.rpartition("fix:   ")[2].strip().partition(" && ")
    assert (first, second) == (f"slm {' '.join(line)}", "slm eval new/run --on held.txt")
    for pasted in (first, second):
        slm(*pasted.split()[1:], code=0)
    assert "fix:   leave the validation data out: " in slm(*line, "--val", "tail:10%", code=2).err


def demo(slm, *more, code=0):
    return slm("demo", *more, "--vocab", 400, "--budget", "tokens=4096", "--threads", 1, "--json", code=code)


def test_a_text_goes_all_the_way(slm, text, monkeypatch):
    monkeypatch.setattr(slm_demo, "ONE_TEXT", slm_demo.ONE_TEXT._replace(sample_ids=40))
    Path("text.txt").write_bytes(text)
    ran = demo(slm, "text.txt", "-o", "out")
    found = ran.json["result"]
    held = text[len(text) * 90 // 100 :]
    assert found["scored_bytes"] == len(held)
    assert set(found["seconds"]) == STAGES
    assert found["seconds"]["total"] == pytest.approx(sum(found["seconds"].values()) / 2, abs=0.01)
    assert found["bpb_content"] < found["bpb_total"] < 8.5
    assert (found["tokens"], len(found["samples"])) == (4096, 5)
    assert found["whole"] is None, "the budget is none of time"
    assert any(sample["text"] for sample in found["samples"])
    for sample in found["samples"]:
        stretches = (sample["text"][at : at + sample["overlap"]] for at in range(len(sample["text"]) + 1))
        assert any(stretch in text.decode() for stretch in stretches)
        assert sample["overlap"] <= len(sample["text"])

    learned = slmtok.train(slmtok.Texts([text[: len(text) * 90 // 100]]), vocab_size=400)
    assert slmtok.load("out/data/tok.json").fingerprint == learned.fingerprint

    checked = slm("eval", "--check", found["certificate"], "--json")
    assert (checked.code, checked.json["result"]["proven"]) == (0, True)
    assert checked.json["result"]["bpb_total"] == pytest.approx(found["bpb_total"], rel=1e-9)


@pytest.mark.usefixtures("short_samples")
def test_stories_without_a_text(slm, monkeypatch):
    monkeypatch.setattr(slm_demo, "STORY_BYTES", 60_000)
    ran = demo(slm, "-o", "out")
    assert {"stories", *STAGES} == set(ran.json["result"]["seconds"])
    assert Path("out/text.txt").stat().st_size <= 60_000
    config = (Path("out") / "run" / "config.yaml").read_text()
    assert "# preset: cpu-stories" in config and "pack: bucket" in config


@pytest.mark.usefixtures("short_samples")
def test_a_budget_of_time_names_the_whole_demo(slm, text, monkeypatch):
    monkeypatch.setattr("slmmodel.trainer.PROBE_SECONDS", 0.05)
    Path("text.txt").write_bytes(text)
    ran = slm("demo", "text.txt", "-o", "out", "--vocab", 400, "--budget", "time=2s", "--threads", 1, "--json", code=0)
    whole, took = ran.json["result"]["whole"], ran.json["result"]["seconds"]["train"]
    assert (
        whole["command"] == "slm demo text.txt --vocab 400 -o out-whole"
        and whole["tokens"] > ran.json["result"]["tokens"]
    )
    # The probe of a budget of time is part of `took`, and not of the speed.
    assert whole["seconds"] < 2 * took * whole["tokens"] / ran.json["result"]["tokens"]


def test_a_text_that_is_too_short_says_how_long_and_leaves_nothing(slm, text):
    Path("text.txt").write_bytes(text[:1000])
    ran = slm("demo", "text.txt", "-o", "new", "--json", "--quiet")
    error = ran.json["error"]
    assert (ran.code, error["class"], error["fields"]["option"]) == (2, "OptionError", "vocab")
    most = int(error["fix"].split()[1].rstrip(","))
    assert 272 < most < 1024 and error["where"] == "'text.txt': 900 bytes of training text"
    assert error["fix"].endswith("or a longer text")
    assert not Path("new").exists()


def test_a_text_of_equal_documents_names_the_text_and_leaves_nothing(slm):
    """All of them have one hash, by which they are for validation."""
    Path("text.txt").write_text("the cat ran to the house\n" * 200)
    ran = slm("demo", "text.txt", "-o", "new", "--document", "line", "--quiet")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: no document is left for training\n  where: 'text.txt'\n"), ran.err
    assert "fix:   a text with more different documents\n" in ran.err and not Path("new").exists()
    ran = slm("demo", "text.txt", "-o", "new", "--max-bytes", "2kB", "--quiet", code=1)
    assert "limit: --max-bytes 2000 ends within the first document, before its tail for validation\n" in ran.err
    assert "fix:   --document line, or --max-bytes 4501\n" in ran.err and not Path("new").exists()


@pytest.mark.usefixtures("short_samples")
def test_what_exists_is_kept_unless_a_demo_made_it(slm, text):
    Path("text.txt").write_bytes(text)
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    ran = demo(slm, "text.txt", "-o", "mine", "--force", code=1)
    assert ran.json["error"]["class"] == "OutputExists"
    assert Path("mine/notes.txt").read_text() == "mine"

    Path("made/data").mkdir(parents=True)
    assert "--force" in demo(slm, "text.txt", "-o", "made", code=1).json["error"]["fix"]
    demo(slm, "text.txt", "-o", "made", "--force")
    weights = Path("made/run/model.safetensors").read_bytes()
    Path("made/run/eval/notes.md").write_text("mine")
    error = demo(slm, "text.txt", "-o", "made", "--force", code=1).json["error"]
    assert error["class"] == "OutputExists" and error["where"].endswith("made/run/eval/notes.md")
    assert Path("made/run/model.safetensors").read_bytes() == weights


@pytest.mark.parametrize(
    ("text_at", "more"),
    [("made/text.txt", ()), ("text.txt", ("--preset", "cpu-dmo")), ("text.txt", ("--budget", "tokns=8K"))],
)
def test_force_that_is_refused_empties_nothing(slm, text, text_at, more):
    Path("made/run").mkdir(parents=True)
    Path("made/text.txt").write_bytes(text)
    Path("text.txt").write_bytes(text)
    line = [text_at, "-o", "made", "--force", *more]
    assert slm("demo", *line, "--json", "--quiet").code != 0
    assert Path("made/text.txt").read_bytes() == text and Path("made/run").is_dir()


def test_a_text_that_leaves_nothing_to_train_on(slm):
    Path("one.txt").write_text("a")
    ran = slm("demo", "one.txt", "-o", "out", "--vocab", "272", code=2)
    assert "the training text is empty\n" in ran.err and "fix:   a longer text\n" in ran.err


def test_a_text_that_is_not_there(slm):
    assert demo(slm, "nowhere.txt", "-o", "out", code=1).json["error"]["class"] == "MissingInput"
    assert not Path("out").exists()


IMPORTS = """
from slmmodel.cli import demo, main
demo.ONE_TEXT = demo.ONE_TEXT._replace(sample_ids=4)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_killed_demo_is_continued_by_the_same_command(text, tmp_path, commands, monkeypatch):
    """Killed at moments of every stage; nothing temporary stays, and the run is that of a demo that nothing stopped."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_bytes(text[:12_000])
    line = ["--vocab", "400", "--budget", "tokens=512", "--threads", "1", "--quiet"]
    with dying_commands(IMPORTS, ["fsync"], commands=commands) as run:
        code, err = run(tmp_path, ["demo", "text.txt", "-o", "whole", *line])
        assert code == 0, err
        syncs = int(err.split("calls ")[1])
        weights = Path("whole/run/model.safetensors").read_bytes()
        for at in (2, syncs // 3, syncs // 2, syncs - 1):
            out = f"killed{at}"
            assert run(tmp_path, ["demo", "text.txt", "-o", out, *line], at)[0] == -signal.SIGKILL
            if at == 2:
                other = run(tmp_path, ["demo", "text.txt", "-o", out, *line[:3], "tokens=1024", *line[4:]])
                assert other[0] == 1 and "exists" in other[1]
            code, err = run(tmp_path, ["demo", "text.txt", "-o", out, *line])
            assert code == 0, f"at {at} of {syncs}: {err}"
            assert Path(out, "run/model.safetensors").read_bytes() == weights
            assert {path.name for path in Path(out).iterdir()} == {"data", "run", "demo.json"}
        assert run(tmp_path, ["demo", "text.txt", "-o", out, *line])[0] == 1


def test_a_refused_demo_leaves_nothing(slm):
    Path("empty.txt").write_text("")
    Path("text.txt").write_text("The cat sat on the mat. " * 3000)
    assert slm("demo", "empty.txt", "-o", "x").code != 0
    assert slm("demo", "text.txt", "-o", "x", "--vocab", "10").code == 2
    assert not Path("x").exists()
