"""`slm probe` and `slm prompts`: tasks, a copy that learns, measures of continuations, and their files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from random import Random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import slmtok  # noqa: E402
from slmmodel.checkpoint import RunFolder  # noqa: E402
from slmmodel.cli import probe, prompts, result_files, result_sections  # noqa: E402
from slmmodel.cli.probe import TASKS  # noqa: E402
from slmmodel.evaluation.probing import distinct, found_in, ngrams, repeated, train_on_answers  # noqa: E402
from slmmodel.evaluation.retrieval import recall, wilson  # noqa: E402
from slmtok.pages.sections import Table  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Iterator[Path]:
    """Packed data and a run of two steps."""
    from slmmodel.cli import main
    from slmtok.options import PackOptions
    from slmtok.shards import pack

    path = tmp_path_factory.mktemp("probe")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        Path("corpus.txt").write_text("".join(f"Ada saw {n} birds in the tree.\n" for n in range(200)))
        slmtok.train("corpus.txt", vocab_size=300).save("tok.json")
        pack("corpus.txt", slmtok.load("tok.json"), "data", PackOptions(format="text", document="line"))
        Path("run.yaml").write_text(
            "model: {arch: llama, n_layers: 1, d_model: 32, n_heads: 2, n_kv_heads: 1, d_ff: 32, seq_len: 128}\n"
            "data: [data]\n"
            "run: {batch_tokens: 256, threads: 1, device: cpu, budget: {steps: 2}}\n"
        )
        assert main(["train", "--config", "run.yaml", "-o", "run", "-q"]) == 0
        yield path


def test_tasks_that_do_not_fit_are_refused_before_any_is_trained(folder: Path, slm, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(probe, "_probe", lambda *_, **__: pytest.fail("trained"))
    assert slm("train", "--config", "run.yaml", "-o", "short", "--set", "model.seq_len=32", "-q").code == 0
    ran = slm("probe", "short", "--samples", 20)
    assert ran.code == 1 and "limit: seq_len 32" in ran.err and "ids with its answer" in ran.err
    assert "--tasks" in ran.err or "a longer seq_len" in ran.err


@pytest.mark.parametrize("name", TASKS)
def test_answers_are_right(name: str) -> None:
    random = Random(3)
    for _ in range(200):
        prompt, answer = TASKS[name](random, 3)
        assert answer.endswith("\n") and answer.count("\n") == 1
        asked, given = prompt.removesuffix(" ->").split(": ")[-1], answer.strip()
        if name == "addition":
            a, b = asked.removesuffix("=").split("+")
            assert len(a) == len(b) == 3 and int(a) + int(b) == int(given)
        elif name == "brackets":
            assert given == str(asked.count("(") - asked.count(")"))
        else:
            assert given == (asked if name == "copy" else asked[::-1])


def test_training_makes_the_answer_the_likeliest(folder: Path) -> None:
    model = RunFolder.open(folder / "run").model("cpu").requires_grad_(True)
    losses = list(train_on_answers(model, repeat(([1, 20, 21], [40, 41, 42])), steps=25, batch_size=2, lr=0.03))
    assert losses[-1] < 0.2 < 4 < losses[0]
    (found,) = recall(model, [[1, 20, 21]], [[40, 41, 42]], max_new_tokens=3)
    assert (found.generated, found.n_correct) == ([40, 41, 42], 3)


def test_measures_of_ids() -> None:
    ids = [1, 2, 3, 4, 1, 2, 3, 4]
    assert (distinct(ids, 1), distinct(ids, 2), distinct([1], 2)) == ((4, 8), (4, 7), (0, 0))
    assert repeated(ids) == (1, 5)


def test_overlap_equals_a_search_by_sets() -> None:
    rng = np.random.default_rng(2)
    blocks = [rng.integers(0, 3, size, dtype=np.uint16) for size in (500, 3, 0, 700)]
    wanted = {tuple(rng.integers(0, 3, 8).tolist()) for _ in range(400)}
    slow = wanted & {run for block in blocks for run in ngrams(block.tolist(), 8)}
    assert 0 < len(slow) < len(wanted)
    assert found_in(blocks, wanted) == slow
    assert found_in(blocks, []) == set()


def test_an_interval_of_many_samples_is_not_shown_as_certain(capsys) -> None:
    """Of 0 in 2,000 it ends at 0.19 %."""
    counts = {"task": "addition", "exact": 0, "samples": 2000, "interval": list(wilson(0, 2000)), "commonest": 0.0}
    one = counts | {"answer_ids_correct": 0, "answer_ids": 1, "loss": None, "example_as_ids": []}
    probe._show({"probes": [one], "settings": {"steps": 1}, "digits_as_ids": []}, "probe.json")
    assert "0.0% to 0.2%" in capsys.readouterr().out


def test_probe_writes_a_file_and_leaves_the_run_alone(folder: Path, slm) -> None:
    run = folder / "run"
    shutil.copytree(run, "run")
    weights = {path: path.read_bytes() for path in Path("run").rglob("*.safetensors")}
    options = ("--tasks", "addition,brackets", "--steps", 2, "--samples", 12, "--digits", 2, "--threads", 1)
    result = slm("probe", "run", *options, "--json", code=0).json["result"]
    assert all(path.read_bytes() == content for path, content in weights.items())
    assert [(one["task"], one["samples"]) for one in result["probes"]] == [("addition", 12), ("brackets", 12)]
    for one in result["probes"]:
        low, high = one["interval"]
        assert 0 <= low <= one["exact"] / 12 <= high <= 1 and one["loss"] > 0
        assert "".join(one["example_as_ids"]).replace("␣", " ").replace("\\n", "\n") == one["example"]
    assert result["digits_as_ids"] and "".join(result["digits_as_ids"]) == "12"
    stored = result_files.load_result("run/eval/probe.json", result_files.PROBE)
    assert stored["probes"] == result["probes"]
    again = slm("probe", "run", *options, "-o", "again.json", "--json", code=0).json["result"]
    assert again["probes"] == result["probes"]
    assert "again.json" in slm("probe", "run", *options, "-o", "again.json", code=1).err
    proven = slm("probe", "run", *options, "--check", "again.json", "--json", code=0).json["result"]
    assert proven == {"path": "again.json", "proven": True, "differences": []}
    assert slm("probe", "run", "--threads", 1, "--check", "again.json", code=0), "its own settings are taken"
    differs = slm("probe", "run", *options, "--seed", 1, "--check", "again.json", code=3).out
    assert "not proven" in differs and "settings" in differs and "probes" in differs
    assert "a result of slm probe" in slm("info", "again.json", code=2).err
    shown = slm("probe", "run", "--tasks", "copy", "--steps", 0, "--samples", 2, "-o", "shown.json", code=0).out
    assert "cut as 12|3" in shown and "copy" in shown


def test_a_probe_is_checked_with_its_own_number_of_threads(folder: Path, slm, monkeypatch) -> None:
    """The copies that are trained depend on it; torch chooses it by the processors of the machine."""
    used = []
    monkeypatch.setattr(probe, "_probe", lambda *_, **__: used.append(torch.get_num_threads()) or {})
    shutil.copytree(folder / "run", "run")
    options = ("--tasks", "copy", "--samples", 2)
    slm("probe", "run", *options, "--threads", 2, "-o", "two.json", "--json", code=0)
    written = json.loads(Path("two.json").read_text())
    assert used == [2] and written["payload"]["settings"]["threads"] == 2
    monkeypatch.setattr(probe, "load_result", lambda *_: written["payload"])
    assert slm("probe", "run", "--threads", 1, "--check", "two.json", code=3).out.count("settings") == 1
    torch.set_num_threads(1)
    slm("probe", "run", "--check", "two.json", code=0)
    assert used == [2, 1, 2]
    # A result of an earlier release.
    del written["payload"]["settings"]["threads"]
    slm("probe", "run", "--check", "two.json", code=0)


def test_probe_refuses_wrong_options(folder: Path, slm, monkeypatch: pytest.MonkeyPatch) -> None:
    run = folder / "run"
    assert "copy, reverse, addition, brackets" in slm("probe", run, "--tasks", "sums", code=2).err
    assert "fix:   --tasks copy,reverse\n" in slm("probe", run, "--tasks", "copy revers", code=2).err
    assert "2 to 9" in slm("probe", run, "--digits", 1, code=2).err
    assert "above 0" in slm("probe", run, "--lr", 0, code=2).err
    monkeypatch.setattr(probe, "_TRIES", 1)
    few = slm("probe", run, "--tasks", "addition", "--digits", 2, "--samples", 500, "--steps", 0, code=1).err
    assert "fewer than 1,000 different questions" in few and "fix:   --samples 13" in few
    # 8,100 sums of two digits: a test of all of them would leave none to learn from.
    monkeypatch.setattr(probe, "_TRIES", 4)
    none = slm("probe", run, "--tasks", "addition", "--digits", 2, "--samples", 8100, "--steps", 1, code=1).err
    assert "fewer than 16,200 different questions, half of them to learn from" in none


def test_prompts_writes_the_sheet(folder: Path, slm) -> None:
    run = folder / "run"
    shutil.copytree(run, "run")
    shutil.copytree(folder / "data", "data")
    ran = slm("prompts", "run", "--max-new", 10, "--threads", 1, "--json", code=0).json
    result = ran["result"]
    assert len(result["prompts"]) == len(set(prompts.PROMPTS)) == 20
    assert [line["method"] for line in result["sheet"]] == list(prompts.METHODS)
    for line in result["sheet"]:
        assert len(line["continuations"]) == 20 and all(length <= 10 for length in line["lengths"])
        for one in line["measures"].values():
            assert one["share"] is None or one["interval"][0] <= one["share"] <= one["interval"][1]
    assert result_files.load_result("run/eval/prompts.json", result_files.PROMPT_SHEET)["sheet"] == result["sheet"]
    greedy = slm("sample", "run", prompts.PROMPTS[2], "--greedy", "--max-new", 10, "--json", code=0).json["result"]
    assert len(greedy["samples"][0]["ids"]) == result["sheet"][0]["lengths"][2]
    assert greedy["samples"][0]["text"] == result["sheet"][0]["continuations"][2]
    command = ("prompts", "run", "--max-new", 10, "--threads", 1, "--check", "run/eval/prompts.json", "--json")
    assert slm(*command, code=0).json["result"]["proven"] is True
    assert result["training_ids"] > 1000 and "overlap_8" in result["sheet"][0]["measures"]


def test_prompts_without_training_data_have_no_overlap(folder: Path, slm) -> None:
    shutil.copytree(folder / "run", "run")
    moved = folder / "data"
    moved.rename(folder / "elsewhere")
    try:
        ran = slm("prompts", "run", "--max-new", 2, "--threads", 1, "--json", code=0).json
    finally:
        (folder / "elsewhere").rename(moved)
    assert "overlap_8" not in ran["result"]["sheet"][0]["measures"]
    assert "no overlap with the training data" in ran["warnings"][0]


def test_a_report_shows_both_files(folder: Path, slm) -> None:
    shutil.copytree(folder / "run", "run")
    slm("probe", "run", "--tasks", "reverse", "--steps", 0, "--samples", 3, "--threads", 1, code=0)
    slm("prompts", "run", "--max-new", 3, "--threads", 1, code=0)
    blocks = [*result_sections._DRAWN["probe"]("a", "run/eval/probe.json")]
    blocks += result_sections._DRAWN["prompts"]("a", "run/eval/prompts.json")
    tables = [block for block in blocks if isinstance(block, Table)]
    assert [len(table.rows) for table in tables] == [1, 3, 20]
    assert all(len(row) == len(table.head) for table in tables for row in table.rows)
    page = slm("report", "run", "-o", "-", "--threads", 1, code=0).out
    assert "Where are you going?" in page and "reverse" in page
