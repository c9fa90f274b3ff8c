"""`slmtok align` on two files of losses."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from printed_fixes import fix_of
from shared_data import peer

import slmtok as package
from slmtok.shards import open_shards


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """A text of two documents, and the losses of two models on it: of words, and of single bytes."""
    texts = ["one fox ran", "two foxes ran"]
    _score(tmp_path, texts, {"a": [[3, 4, 4], [3, 6, 4]], "b": [[1] * len(text) for text in texts]})
    return tmp_path


def _score(folder: Path, texts: list[str], models: dict[str, list[list[int]]]) -> None:
    """Writes v.jsonl and the losses of models, each with the bytes of its targets by document; a target has one bit."""
    (folder / "v.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    save = peer("safetensors.numpy").save
    about = {"about": json.dumps({"format": "slm-losses", "version": 1})}
    for name, parts in models.items():
        sizes = [size for one in parts for size in one]
        arrays: dict[str, Any] = {
            "nats": np.full(len(sizes), math.log(2), dtype=np.float32),
            "nbytes": np.uint32(sizes),
            "offsets": np.uint64(np.cumsum([0, *map(len, parts)])),
        }
        (folder / f"{name}.losses").write_bytes(save(arrays, about))


def test_empty_documents_have_no_bits_per_byte(slmtok, tmp_path: Path) -> None:
    for texts, parts in ((["", "one fox"], [[0], [3, 4]]), ([""], [[0]])):
        _score(tmp_path, texts, {"a": parts, "b": parts})
        result = slmtok("align", "a.losses", "b.losses", "--on", "v.jsonl", "--json").json["result"]
        empty = result["kinds"]["empty"]
        assert (empty["bytes"], empty["bpb_a"], empty["bpb_b"]) == (0, None, None)
        assert empty["bits_a"] == pytest.approx(1, rel=1e-6)
        n_bytes = sum(map(len, texts))
        assert result["bpb_a"] == (pytest.approx(3 / 7, rel=1e-6) if n_bytes else None)
        assert empty["share"] == (0 if n_bytes else None)
        rows = slmtok("align", "a.losses", "b.losses", "--on", "v.jsonl").out.splitlines()
        assert next(row.split() for row in rows if "empty" in row) == ["empty", "0", *["+0.0000"] * (n_bytes > 0)]


def test_result_and_map(slmtok, scored: Path) -> None:
    result = slmtok("align", "a.losses", "b.losses", "--on", "v.jsonl", "-o", "m.html", "--json").json["result"]
    assert (result["documents"], result["segments"], result["bytes"]) == (2, 6, 24)
    assert (result["bits_a"], result["bits_b"]) == pytest.approx((6, 24), rel=1e-6)
    assert result["kinds"].keys() == {"words"}
    assert result["b_gains"] == []
    assert [(one["text"], one["count"]) for one in result["b_loses"]][:2] == [("␣ran", 2), ("␣foxes", 1)]
    assert (scored / "m.html").read_text().count("<span") == 18
    shown = slmtok("align", "a.losses", "b.losses", "--on", "v.jsonl").out
    assert "b loses most" in shown
    assert "b gains most" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.losses", "none", "--on", "v.jsonl"), "no file 'none'"),
        (("a.losses", os.devnull, "--on", "v.jsonl"), "is no regular file, not a file of losses"),
        (("a.losses", "v.jsonl", "--on", "v.jsonl"), "v.jsonl is no file of losses"),
        (("a.losses", "b.losses", "--on", "a.losses"), "a.losses"),
        (
            ("v.jsonl", "a.losses", "--top", "3", "--on=b.losses"),
            "error: --on b.losses is a file of losses, and A 'v.jsonl' is none\n"
            "  where: slmtok align\n"
            "  limit: A and B are losses, --on is the text\n"
            "  fix:   slmtok align a.losses b.losses --on v.jsonl --top 3\n",
        ),
        (("a.losses", "b.losses", "--on", "v.jsonl", "-o", "v.jsonl", "--force"), "is also the input"),
        (("a.losses", "b.losses", "--on", "v.jsonl", "-o", "-"), "-o - is stdout"),
        (("a.losses", "b.losses"), "--on"),
    ],
)
def test_wrong_arguments(slmtok, scored: Path, arguments: tuple[str, ...], message: str) -> None:
    before = {path.name: path.read_bytes() for path in scored.iterdir()}
    done = slmtok("align", *arguments)
    assert done.code in (1, 2)
    assert message in done.err
    assert {path.name: path.read_bytes() for path in scored.iterdir()} == before


@pytest.mark.parametrize("on", [[], ["--on", "v.jsonl"]])
def test_two_tokenizers_are_compared_by_another_command(slmtok, scored: Path, on: list[str]) -> None:
    for name in ("one.json", "other.json"):
        package.train("v.jsonl", vocab_size=275, min_count=1).save(name)
    ran = slmtok("align", "one.json", "other.json", *on)
    assert ran.code == 2
    assert ran.err.startswith("error: 'one.json' and 'other.json' are tokenizers, not losses of models on a text\n")
    fix = ran.err.partition("fix:   ")[2].strip()
    assert fix == " ".join(["slmtok", "diff", "one.json", "other.json", *on])
    assert slmtok(*fix.split()[1:]).code == 0


def _run(folder: Path) -> None:
    folder.mkdir()
    for name in ("config.yaml", "SHA256SUMS", "fingerprint.json"):
        (folder / name).touch()


def test_losses_that_are_not_written_yet_are_scored(slmtok, scored: Path) -> None:
    _run(scored / "run")
    fix = slmtok("align", "run.losses", "a.losses", "--on", "v.jsonl").err.partition("fix:   ")[2]
    assert fix == ("slm eval run --on v.jsonl --losses run.losses && slmtok align run.losses a.losses --on v.jsonl\n")
    assert "there is 'a.losses'" in slmtok("align", "aa.losses", "b.losses", "--on", "v.jsonl").err
    ran = slmtok("align", "run.losses", "two.losses", "--on", "v.jsonl")
    assert "slm eval RUN --on v.jsonl --losses two.losses && slmtok align run.losses two.losses " in ran.err


@pytest.mark.parametrize(
    ("line", "fix"),
    {
        "align a.losses --on v.jsonl --top 3": "slmtok align a.losses b.losses --on v.jsonl --top 3",
        "align --on v.jsonl": "slmtok align a.losses b.losses --on v.jsonl",
        "align b.losses": "slmtok align b.losses a.losses --on TEXT",
        "align one/a.losses --on v.jsonl": "slm eval RUN --on v.jsonl --losses b-2.losses && "
        "slmtok align one/a.losses b-2.losses --on v.jsonl",
        "align run --on v.jsonl": "slm eval run --on v.jsonl --losses run.losses && "
        "slm eval RUN --on v.jsonl --losses b-2.losses && slmtok align run.losses b-2.losses --on v.jsonl",
        "align run/metrics.jsonl --on v.jsonl": "slm eval run --on v.jsonl --losses run.losses && "
        "slm eval RUN --on v.jsonl --losses b-2.losses && slmtok align run.losses b-2.losses --on v.jsonl",
        "align one.json --on v.jsonl": "slmtok diff one.json TOK --on v.jsonl  # one.json is a tokenizer",
        "align v.jsonl --on v.jsonl": "slmtok align v.jsonl B --on v.jsonl",
    }.items(),
)
def test_a_forgotten_file_of_losses_is_named_or_written(slmtok, scored: Path, line: str, fix: str) -> None:
    _run(scored / "run")
    (scored / "run/metrics.jsonl").touch()
    package.train("v.jsonl", vocab_size=275, min_count=1).save("one.json")
    (scored / "one").mkdir()
    shutil.copy("a.losses", "one")
    ran = slmtok(*line.split())
    assert ran.code == 2 and " is missing: losses of " in ran.err and fix_of(ran) == fix
    if fix.startswith("slmtok align") and "TEXT" not in fix and "B" not in fix.split():
        assert slmtok(*fix.split()[1:]).code == 0


def test_a_run_beside_losses_of_another_text_is_not_scored_in_vain(slmtok, scored: Path) -> None:
    _run(scored / "run")
    (scored / "long.txt").write_text("one fox ran")
    ran = slmtok("align", "run", "a.losses", "--on", "long.txt")
    assert (ran.code, ran.err) == (
        2,
        "error: 'run' is a run of slm, not losses on a text; besides, a.losses has losses of another text: "
        "the text has 1 document, a.losses has 2\n"
        "  where: a.losses: 2 documents, 24 bytes\n"
        "  limit: files that slm eval RUN --losses FILE wrote\n"
        "  fix:   slm eval run --on long.txt --losses run.losses && slm eval RUN --on long.txt --losses a-2.losses && "
        "slmtok align run.losses a-2.losses --on long.txt, with the run of a.losses as RUN\n",
    )
    # Losses of this text stay as they are; those of an earlier command are not replaced.
    (scored / "run.losses").touch()
    ran = slmtok("align", "run", "a.losses", "--on", "v.jsonl")
    assert ran.err.endswith(
        "  fix:   slm eval run --on v.jsonl --losses run-2.losses && slmtok align run-2.losses a.losses --on v.jsonl\n"
    )


def test_metrics_of_a_run_lead_to_its_losses(slmtok, scored: Path) -> None:
    _run(scored / "run")
    (scored / "run/metrics.jsonl").touch()
    ran = slmtok("align", "run/metrics.jsonl", "a.losses", "--on", "v.jsonl")
    assert ran.err.startswith("error: 'run/metrics.jsonl' is a file of a run of slm, not losses on a text\n")
    line = "slm eval run --on v.jsonl --losses run.losses && slmtok align run.losses a.losses --on v.jsonl"
    assert fix_of(ran) == line


def test_losses_of_packed_data_are_aligned_on_it(slmtok, tmp_path: Path) -> None:
    """On the documents of the split that was scored."""
    texts = ["one fox ran", "two foxes ran", "three foxes ran"]
    Path("v.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    package.train("v.jsonl", vocab_size=275, min_count=1).save("tok.json")
    assert slmtok("pack", "v.jsonl", "-t", "tok.json", "-o", "data", "--val", "tail:40%").code == 0
    data, tok = open_shards("data"), package.load("tok.json")
    for split in ("train", "val"):
        held = [tok.decode(data.document(at, split), skip_special=True) for at in range(data.n_docs(split))]
        _score(tmp_path, held, {"a": [[len(text)] for text in held], "b": [[1] * len(text) for text in held]})
        on_text = slmtok("align", "a.losses", "b.losses", "--on", "v.jsonl", "--json").json["result"]
        assert on_text["documents"] == len(held) > 0
        assert slmtok("align", "a.losses", "b.losses", "--on", "data", "--json").json["result"] == on_text
    fix = slmtok("align", "a.losses", "b.losses").err.rpartition("  fix:   ")[2]
    line = "slmtok align a.losses b.losses --on TEXT"
    assert fix == f"{line}, with the text or the packed data that were scored as TEXT\n"


def test_losses_of_another_text_need_new_ones(slmtok, scored: Path) -> None:
    (scored / "long.txt").write_text("one fox ran, and ran")
    ran = slmtok("align", "a.losses", "b.losses", "--on", "long.txt")
    assert (ran.code, ran.err) == (
        2,
        "error: document 0 has 20 bytes, in a.losses 11\n"
        "  where: a.losses: 2 documents, 24 bytes; b.losses: 2 documents, 24 bytes\n"
        "  limit: the same documents in the same order\n"
        "  fix:   name the text that slm eval scored, with the same options, or the packed data; for this text: "
        "slm eval RUN --on long.txt --losses a-2.losses && slm eval RUN --on long.txt --losses b-2.losses && "
        "slmtok align a-2.losses b-2.losses --on long.txt, with the run of each file as RUN\n",
    )
