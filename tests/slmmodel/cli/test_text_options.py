"""Text on the fly takes the corpus options of `slmtok pack`: as flags, in a configuration file, recorded by the run."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import shared_data

pytest.importorskip("torch")

import slmtok
from slmmodel.checkpoint import RunFolder
from slmmodel.cli import APP
from slmmodel.cli.reading import merge, to_flags, to_record
from slmmodel.config import read_assignments
from slmmodel.errors import InvalidConfig
from slmtok.options import ReadOptions, flag_of, option_specs

LINE = "The cat saw the dog; the dog saw nothing. Né?"
SMALL = ["model.arch=llama", "model.d_model=16", "model.n_layers=1", "model.n_heads=2", "model.n_kv_heads=2"]
SMALL += ["model.seq_len=16", "run.batch_tokens=64", "run.save_every=2", "run.threads=1"]
SETS = [part for setting in SMALL for part in ("--set", setting)]


def texts(number: int) -> list[str]:
    return [f"{index}: {LINE * (1 + index % 4)}" for index in range(number)]


@pytest.fixture
def records(slm: Any) -> Path:
    """Records whose text is in the field `body`, and a tokenizer, in the folder of the test."""
    slmtok.train(slmtok.Texts([LINE * 9]), vocab_size=290).save("tok.json")
    rows = [{"title": f" {number} ", "body": text} for number, text in enumerate(texts(60))]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Path("a.jsonl")


@pytest.mark.parametrize("command", ["train", "batches", "eval", "demo"])
def test_every_corpus_option_is_a_flag(command: str) -> None:
    flags = {flag for param in APP.command(command).params for flag in param.opts}
    wanted = {flag_of(name) for name, _, _ in option_specs(ReadOptions) if name != "seed"}
    assert wanted <= flags


OPTIONS = ["--text-template", "{title|strip}: {body}", "--max-docs", "50"]


def test_a_run_records_how_it_reads(slm: Any, records: Path) -> None:
    """Resuming, scoring and showing batches read what training read."""
    trained = slm("train", records, "-t", "tok.json", *OPTIONS, *SETS, "--budget", "steps=4", "-q", "--json", code=0)
    run = RunFolder.open("run")
    assert run.config["data"]["read"] == {"text_template": "{title|strip}: {body}", "max_docs": 50}
    scored = slm("eval", "run", "--no-baselines", "--json", "-q", code=0).json["result"]
    assert scored["bpb_total"] == trained.json["result"]["evaluation"]["bpb_total"]
    slm("resume", "run", "--step", 2, "-o", "again", "-q", code=0)
    assert Path("run/model.safetensors").read_bytes() == Path("again/model.safetensors").read_bytes()
    of_run = slm("batches", "run", "--n", 1, "--json", code=0).json["result"]["batches"][0]["shown"]
    assert {span["document"] for row in of_run for span in row["spans"]} >= {0}
    refused = slm("train", records, "-t", "tok.json", "--text-key", "title", *SETS, "--budget", "steps=4", "--force")
    assert refused.code == 0 and RunFolder.open("run").config["data"]["read"] == {"text_key": "title"}


def test_all_of_a_text_is_scored(slm: Any, records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slm("train", records, "-t", "tok.json", *OPTIONS, *SETS, "--budget", "steps=1", "-q", code=0)
    Path("b.txt").write_text(LINE * 40, encoding="utf-8")
    certificates = []
    for on, more, size in (
        ("b.txt", (), Path("b.txt").stat().st_size),
        (records, OPTIONS, sum(len(f"{number}: {text}".encode()) for number, text in enumerate(texts(50)))),
        ("-", (), len(b"Two words.")),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Two words.")))
        result = slm("eval", "run", "--on", on, *more, "--no-baselines", "--json", "-q", code=0).json["result"]
        assert result["sums"]["bytes"] == size and result["documents"]["split"] == "all"
        certificates.append(result["written"]["certificate"])
    assert certificates == ["run/eval/b-all.json", "run/eval/a-all.json", "run/eval/stdin-all.json"]
    assert slm("eval", "--check", certificates[0], "--on", "b.txt").code == 0
    held = slm("eval", "run", "--on", "b.txt", "--split", "val", "--no-baselines", "--json", "-q", code=0)
    assert held.json["result"]["sums"]["bytes"] < Path("b.txt").stat().st_size


def test_all_of_a_validation_text_is_scored(slm: Any, records: Path) -> None:
    Path("val.txt").write_text(LINE * 5, encoding="utf-8")
    Path("train.txt").write_text(LINE * 50, encoding="utf-8")
    command = ["train", "train.txt", "-t", "tok.json", "--set", "data.val=val.txt", *SETS, "--budget", "steps=1"]
    trained = slm(*command, "-q", "--json", code=0).json["result"]
    assert trained["evaluation"]["sums"]["bytes"] == Path("val.txt").stat().st_size


def test_batches_of_text(slm: Any, records: Path) -> None:
    shown = slm("batches", records, "-t", "tok.json", "--text-key", "title", "--n", 1, "--seq-len", 8, code=0)
    assert "inputs   <s>|" in shown.out and "c|at" not in shown.out and "␣cat" not in shown.out
    refused = slm("batches", records)
    assert (refused.code, "fix:   -t tok.json\n" in refused.err) == (1, True)


@pytest.mark.parametrize(
    ("command", "fix"),
    [
        (["train", "packed", "--separator", "x"], "leave --separator out"),
        (["batches", "packed", "--max-docs", "2"], "leave --max-docs out"),
        (["batches", "run", "--max-docs", "2"], "leave it out, or name the data instead of the run"),
        (["eval", "run", "--text-key", "x"], "leave --text-key out, or --on TEXT"),
        (["eval", "run", "--on", "packed", "--text-key", "x"], "leave --text-key out"),
        (
            ["train", "a.jsonl", "-t", "tok.json", "-o", "other"],
            "--text-key body if all records have it, else --skip-malformed",
        ),
        (["train", "a.jsonl", "-t", "tok.json", "--set", "data.read.text_kye=x"], "write data.read.text_key"),
        (["demo", "a.jsonl", "--text-key", "title", "--separator", ","], "leave --separator out"),
        (["demo", "-", "-o", "other"], "slm demo FILE"),
        (
            ["batches", "packed", "-t", "other.json"],
            "leave out --tokenizer other.json: packed has its own; to use other.json, pack the text with it: "
            "slmtok pack a.jsonl -t other.json --text-key body -o NEW",
        ),
        (
            ["train", "packed", "-t", "other.json"],
            "leave it out: packed data have their own; to train with other.json, pack the text with it: "
            "slmtok pack a.jsonl -t other.json --text-key body -o NEW",
        ),
    ],
)
def test_refusals_name_options_that_exist(slm: Any, records: Path, command: list[str], fix: str) -> None:
    from slmtok.shards import pack

    tokenizer = slmtok.load("tok.json")
    pack(records, tokenizer, "packed", text_key="body")
    slmtok.train(slmtok.Texts([LINE]), vocab_size=280, allow_smaller=True).save("other.json")
    if "run" in command:
        slm("train", records, "-t", "tok.json", *OPTIONS, *SETS, "--budget", "steps=1", "-q", code=0)
    ran = slm(*command)
    assert ran.code in (1, 2) and f"fix:   {fix}\n" in ran.err, ran.err
    assert not Path("other").exists()


def test_flags_win_over_a_configuration() -> None:
    given = read_assignments(
        [
            r"data.read.separator=\n\n",
            "data.read.max_docs=2K",
            "data.read.exclude=*.md",
            "data.read.skip_malformed=true",
            "data.read.domains.code=*.py",
            "optim.lr=1e-3",
        ]
    )
    settings, read = merge(given, ReadOptions(max_docs=3))
    assert read == ReadOptions(
        separator="\n\n", max_docs=3, exclude="*.md", skip_malformed=True, domains={"code": "*.py"}
    )
    assert settings["data.read.max_docs"].value == 3 and settings["optim.lr"].value == "1e-3"
    assert ReadOptions(**to_record(read)) == read
    assert to_flags(read) == [
        *("--separator", r"\n\n", "--skip-malformed", "--exclude", "*.md", "--domain", "code=*.py", "--max-docs", "3")
    ]
    with pytest.raises(InvalidConfig, match=r"did you mean 'data\.read\.max_docs'"):
        merge(read_assignments(["data.read.max_dcos=3"]), ReadOptions())


@pytest.mark.usefixtures("short_samples")
def test_a_demo_of_records(slm: Any, records: Path) -> None:
    result = slm(
        *("demo", records, "--text-key", "body", "--max-docs", 40, "--vocab", 280, "--budget", "steps=1"),
        *("--threads", 1, "-o", "out", "-q", "--json"),
        code=0,
    ).json["result"]
    assert 0 < result["scored_bytes"] < sum(len(text.encode()) for text in texts(40))


def test_a_public_encoding(slm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shared_data.shared_folder() / "data" / "tiktoken-cache"
    if not folder.is_dir():
        shared_data.missing("tiktoken-cache")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    Path("a.txt").write_text(LINE * 50, encoding="utf-8")
    slm("train", "a.txt", "-t", "tiktoken:gpt2", *SETS, "--budget", "steps=1", "-q", code=0)
    run = RunFolder.open("run")
    assert run.tokenizer is not None and slmtok.load(run.tokenizer).n_vocab == 50_257
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    assert slm("eval", "run", "--on", "a.txt", "--no-baselines", "-q").code == 0
