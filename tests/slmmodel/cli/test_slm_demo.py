"""`slm demo`: a text goes all the way, the tokenizer has not seen what is scored, and the number is proven again."""

from __future__ import annotations

from pathlib import Path

import pytest

import slmtok
from slmtok.stories import story

STAGES = {"shards", "import", "train", "score", "sample", "total"}


@pytest.fixture(scope="module")
def text() -> bytes:
    """A text of one document; its last tenth begins inside a word."""
    return "\n\n".join(story(index) for index in range(60)).encode()[:40_000]


def demo(slm, *more, code=0):
    return slm("demo", *more, "--vocab", 400, "--budget", "tokens=4096", "--threads", 1, "--json", code=code)


def test_a_text_goes_all_the_way(slm, text):
    Path("text.txt").write_bytes(text)
    ran = demo(slm, "text.txt", "-o", "out")
    found = ran.json["result"]
    held = text[len(text) * 90 // 100 :]
    assert found["scored_bytes"] == len(held)
    assert set(found["seconds"]) == STAGES
    assert found["seconds"]["total"] == pytest.approx(sum(found["seconds"].values()) / 2, abs=0.01)
    assert found["bpb_content"] < found["bpb_total"] < 8.5
    assert (found["tokens"], len(found["samples"])) == (4096, 5)
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


def test_stories_without_a_text(slm, monkeypatch):
    monkeypatch.setattr("slmmodel.cli.demo.STORY_BYTES", 60_000)
    ran = demo(slm, "-o", "out")
    assert {"stories", *STAGES} == set(ran.json["result"]["seconds"])
    assert Path("out/text.txt").stat().st_size <= 60_000
    config = (Path("out") / "run" / "config.yaml").read_text()
    assert "# preset: cpu-stories" in config and "pack: bucket" in config


def test_a_budget_of_time_names_the_whole_demo(slm, text):
    Path("text.txt").write_bytes(text)
    ran = slm("demo", "text.txt", "-o", "out", "--vocab", 400, "--budget", "time=2s", "--threads", 1, "--json", code=0)
    whole, took = ran.json["result"]["whole"], ran.json["result"]["seconds"]["train"]
    assert whole["command"] == "slm demo text.txt -o out-whole" and whole["tokens"] > ran.json["result"]["tokens"]
    # The probe of a budget of time is part of `took`, and not of the speed.
    assert whole["seconds"] < 2 * took * whole["tokens"] / ran.json["result"]["tokens"]
    assert demo(slm, "text.txt", "-o", "other").json["result"]["whole"] is None


def test_a_text_that_is_too_short_says_how_long_and_leaves_nothing(slm, text):
    Path("text.txt").write_bytes(text[:1000])
    ran = slm("demo", "text.txt", "-o", "new", "--json", "--quiet")
    error = ran.json["error"]
    assert (ran.code, error["class"], error["fields"]["option"]) == (2, "OptionError", "vocab")
    most = int(error["fix"].split()[1].rstrip(","))
    assert 272 < most < 1024 and error["where"] == "'text.txt': 900 bytes of training text"
    assert error["fix"].endswith("a text of 46,080 bytes and more")
    assert not Path("new").exists()


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


def test_a_text_that_is_not_there(slm):
    assert demo(slm, "nowhere.txt", "-o", "out", code=1).json["error"]["class"] == "MissingInput"
    assert not Path("out").exists()
