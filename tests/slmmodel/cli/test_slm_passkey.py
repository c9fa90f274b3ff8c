"""`slm passkey` with a model that finds what is near enough; passkeys in training data; `slm pairs`."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from printed_fixes import fix_of

torch = pytest.importorskip("torch")

import slmtok  # noqa: E402
from slmmodel.checkpoint import RunFolder  # noqa: E402
from slmmodel.cli import passkey_text  # noqa: E402
from slmmodel.cli.curves import figure_class  # noqa: E402
from slmmodel.cli.open_by_path import RunContext  # noqa: E402
from slmmodel.cli.pairs import _points  # noqa: E402
from slmmodel.cli.passkey import measure  # noqa: E402
from slmmodel.cli.passkey_text import TaskMaker, Template, evaluation_tasks, scores, training_tasks  # noqa: E402
from slmmodel.cli.text import Text  # noqa: E402
from slmmodel.data import RunData, open_data  # noqa: E402
from slmmodel.data.batch import make_batch  # noqa: E402
from slmmodel.data.mixture import Component, Mixture, PackedStream  # noqa: E402
from slmmodel.data.strategies import make_packing  # noqa: E402
from slmmodel.data_config import DataSource  # noqa: E402
from slmmodel.decoding_options import opening_ids  # noqa: E402
from slmmodel.errors import OptionError  # noqa: E402
from slmmodel.models.protocol import Model, Output, State  # noqa: E402

CONTEXT = 3
"""Ids that the model compares."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Iterator[Path]:
    """A tokenizer, packed data and a run of three steps with passkeys."""
    from slmmodel.cli import main

    path = tmp_path_factory.mktemp("passkey")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        text = "".join(f"Story {n}. Ada saw {n} birds in the tree and told Ben about them.\n" for n in range(400))
        # The sentences of the task are in the text, so that they take few ids.
        task = " ".join(Template().__dict__.values()).replace("{key}", "0")
        Path("corpus.txt").write_text(text + f"{task}\n" * 20)
        slmtok.train("corpus.txt", vocab_size=400).save("tok.json")
        from slmtok.options import PackOptions
        from slmtok.shards import pack

        pack("corpus.txt", slmtok.load("tok.json"), "data", PackOptions(format="text", document="line"))
        Path("run.yaml").write_text(
            "model: {arch: llama, n_layers: 1, d_model: 32, n_heads: 2, n_kv_heads: 1, d_ff: 32, seq_len: 256}\n"
            "data: [data, {passkey: 10%}]\n"
            "run: {batch_tokens: 512, save_every: 2, threads: 1, device: cpu, budget: {steps: 4}}\n"
        )
        assert main(["train", "--config", "run.yaml", "-o", "run", "-q"]) == 0
        yield path


class Seen(State):
    """The ids so far [B, n], with -1 for padding."""

    def __init__(self, batch_size: int) -> None:
        self.ids = torch.empty(batch_size, 0, dtype=torch.int64)
        self.length = torch.zeros(batch_size, dtype=torch.int64)

    def reorder(self, rows: torch.Tensor) -> None:
        self.ids, self.length = self.ids[rows], self.length[rows]

    def truncate(self, length: int) -> None:
        raise NotImplementedError

    def tensors(self) -> dict[str, torch.Tensor]:
        return {"ids": self.ids}


class Finder(Model):
    """Gives the id that followed the last `CONTEXT` ids where they stood before, at most `reach` ids ago."""

    def __init__(self, n_vocab: int, seq_len: int, reach: int) -> None:
        torch.nn.Module.__init__(self)
        self.config: Any = SimpleNamespace(
            n_vocab=n_vocab, seq_len=seq_len, max_context=seq_len, recurrent=False, unbounded=False, arch="finder"
        )
        self.embed = torch.nn.Embedding(n_vocab, 1)
        self.reach = reach

    def init_state(self, batch_size: int, device: Any, capacity: int | None = None) -> State:
        return Seen(batch_size)

    def forward(self, ids: torch.Tensor, *, state: Any = None, logits: str = "all", **masks: Any) -> Output:  # type: ignore[override]
        real = next((mask for mask in masks.values() if mask is not None), torch.zeros_like(ids))
        state.ids = torch.cat([state.ids, torch.where(real >= 0, ids, -1)], 1)
        out = torch.zeros(len(ids), 1, self.config.n_vocab)
        for row, seen in enumerate(state.ids.tolist()):
            last = seen[-CONTEXT:]
            for end in range(len(seen) - 1, max(len(seen) - self.reach, CONTEXT) - 1, -1):
                if seen[end - CONTEXT : end] == last:
                    out[row, 0, seen[end]] = 1.0
                    break
        return Output(out, torch.zeros(*ids.shape, 1), state)


class Rambler(Finder):
    """Ends its document after the number, and writes digits behind the end."""

    def __init__(self, finder: Finder, text: Text, end: int) -> None:
        super().__init__(finder.config.n_vocab, finder.config.seq_len, finder.reach)
        self.end, self.after = end, text.encode("7")[-1]
        self.digits = {id for id in range(finder.config.n_vocab) if text.data([id]).strip().isdigit()}

    def forward(self, ids: torch.Tensor, *, state: Any = None, logits: str = "all", **masks: Any) -> Output:  # type: ignore[override]
        output = super().forward(ids, state=state, logits=logits, **masks)
        for row, seen in enumerate(state.ids.tolist()):
            is_digit, likeliest = seen[-1] in self.digits, int(output.logits[row, 0].argmax())
            if seen[-1] == self.end or (is_digit and likeliest not in self.digits):
                output.logits[row, 0, self.after if seen[-1] == self.end else self.end] = 2.0
        return output


def context_of(folder: Path, reach: int, seq_len: int = 4096) -> RunContext:
    run = RunFolder.open(folder / "run")
    assert run.tokenizer is not None
    model: Any = Finder(run.vocab.n_vocab, seq_len, reach)
    return RunContext(run, model, run.vocab, Text(run.tokenizer, run.vocab))


def test_the_heat_map_shows_what_a_model_finds(folder):
    """All that is at most 600 ids away, nothing else."""
    options: dict[str, Any] = {"samples": 4, "digits": 5, "seed": 0, "max_new": 15}
    lengths, depths = (300, 1000), (0, 30, 80, 100)
    result, warnings = measure(context_of(folder, 600), Template(), lengths=lengths, depths=depths, **options)
    found = {(cell["length"], cell["depth"]): cell for cell in result["cells"]}
    for (length, depth), cell in found.items():
        distance = cell["prompt_ids"] - cell["needle_ids"][0]
        assert cell["exact"] == cell["contains"] == (4 if distance < 560 else 0 if distance > 650 else cell["exact"])
        assert (cell["exact"] == 4) == (length == 300 or depth >= 80), (length, depth, distance)
        assert cell["answer_ids_correct"] == (cell["answer_ids"] if cell["exact"] else cell["answer_ids_correct"])
        assert length - 40 < cell["prompt_ids"] + 15 <= length and cell["prompt_bytes"] > cell["prompt_ids"]
    assert found[300, 0]["interval"] == pytest.approx([0.5101, 1.0], abs=1e-4)
    assert result["by_length"][1]["exact"] == 8 and result["by_length"][1]["samples"] == 16
    assert warnings == () and result["trained_on_passkeys"] == 0.1
    again, _ = measure(context_of(folder, 600), Template(), lengths=lengths, depths=depths, **options)
    assert again == result


def test_what_follows_the_end_of_the_document_is_no_part_of_the_answer(folder):
    context = context_of(folder, 600)
    end = context.vocab.specials["eos"]
    rambler = Rambler(context.model, context.need_text("this test"), end)
    options: dict[str, Any] = {"samples": 4, "digits": 5, "seed": 0, "max_new": 15}
    result, _ = measure(replace(context, model=rambler), Template(), lengths=(300,), depths=(50,), **options)
    (cell,) = result["cells"]
    assert (cell["exact"], cell["answer_ids_correct"]) == (4, cell["answer_ids"])


def test_lengths_beyond_the_training_are_run_with_a_warning(folder, monkeypatch):
    context = context_of(folder, 600, seq_len=256)
    context.model.config.max_context = sys.maxsize
    monkeypatch.setattr(
        "slmmodel.cli.passkey._recall",
        lambda context, tasks, max_new: [SimpleNamespace(generated=[], n_correct=0)] * len(tasks),
    )
    options: dict[str, Any] = {"samples": 2, "digits": 5, "seed": 0, "max_new": 15}
    result, (warning,) = measure(context, Template(), lengths=(2048,), depths=(50,), **options)
    assert "lengths above 256 ids are longer than the sequences of training" in warning
    assert result["cells"][0]["prompt_ids"] > 1900
    context.model.config.seq_len = 140
    result, (warning,) = measure(context, Template(), lengths=None, depths=(50,), **options)
    assert result["settings"]["lengths"] == [140]
    assert warning.startswith("half of seq_len, 70 ids, is left out: the task has ")


def test_tasks(folder):
    """Whole sentences up to the length; the needle at its depth; numbers of evaluation only."""
    run = RunFolder.open(folder / "run")
    text = Text(folder / "tok.json", run.vocab)
    maker = TaskMaker(text, opening_ids(run.vocab), max_new=15)
    for length in (200, 333, 1000):
        for depth in (0, 0.5, 1):
            first, second = evaluation_tasks(maker, length, depth, 2, seed=3)
            assert first.key != second.key and int(first.key) % 7 == 0 and len(first.key) == 5
            assert text.data(first.prompt).decode() == first.text and first.prompt[0] == run.vocab.specials["bos"]
            start, stop = first.needle
            assert text.data(first.prompt[start:stop]).decode().strip() == maker.template.needle.replace(
                "{key}", first.key
            )
            filler = len(first.prompt) - maker.least(first.key) + maker.room
            intro = len(maker.opening) + len(text.encode(maker.template.intro))
            assert abs(start - intro - depth * filler) <= max(maker._sizes)
            assert length - max(maker._sizes) - 15 <= len(first.prompt) <= length - 15
    assert evaluation_tasks(maker, 200, 0.5, 3, 1) == evaluation_tasks(maker, 200, 0.5, 3, 1)
    assert scores(first, f" {first.key}. It") == (True, True)
    assert scores(first, f" 12. It is {first.key}") == (True, False)
    assert scores(first, f" 9{first.key}") == (True, False) and scores(first, "no") == (False, False)


def test_training_numbers_are_others(folder):
    maker = TaskMaker(Text(folder / "tok.json", RunFolder.open(folder / "run").vocab), [])
    made = [task for task, _ in zip(training_tasks(maker, 250, "0/0"), range(200), strict=False)]
    assert all(int(task.key) % 7 for task in made) and len({task.key for task in made}) > 190
    lengths = [len(task.prompt) + len(task.answer) for task in made]
    assert max(lengths) <= 250 and min(lengths) < 190 < 235 < max(lengths)
    starts = [task.needle[0] / len(task.prompt) for task in made]
    assert np.ptp(starts) > 0.3
    random = Random(0)
    assert {int(maker.key(random)) % 7 for _ in range(50)} == {0}


def test_mixed_training_data(folder, slm, monkeypatch):
    """The share holds, the card says so, batches show the tasks, and a resumed run makes the same ones."""
    run = RunFolder.open(folder / "run")
    assert run.config["data"]["train"] == [{"path": str(folder / "data")}, {"passkey": 0.1}]
    card = (folder / "run" / "README.md").read_text()
    assert "* 10.0% of the training tokens are generated passkey tasks" in card
    data = open_data(str(folder / "data"))
    source, other = mixed(data, 0.1), mixed(data, 0.2)
    block, plain = source.block(0), data.train.block(0)
    added = int(block.lengths()[plain.n_docs :].sum())
    assert added / int(block.lengths().sum()) == pytest.approx(0.1, abs=0.02)
    assert block.lengths()[plain.n_docs :].max() <= 256
    text = Text(folder / "tok.json", data.vocab)
    for number in (plain.n_docs, block.n_docs - 1):
        ids = block.ids(number, 0, int(block.lengths()[number])).tolist()
        assert (ids[0], ids[-1]) == (data.vocab.specials["bos"], data.vocab.specials["eos"])
        read = text.data(ids).decode()
        assert len(read.encode()) == block.nbytes()[number]
        assert re.fullmatch(r".*The pass key is (\d{5})\. Remember it\..* The pass key is \1", read)
    assert len({source.digest, data.train.digest, other.digest}) == 3
    assert source.domain_names == ("data", "passkey") and source.domains().sum() == block.n_docs - plain.n_docs
    shown = slm("batches", folder / "run", "--n", 20, "--max-rows", 0, "--json", code=0).json["result"]["batches"]
    spans = [span["ids"] for batch in shown for row in batch["shown"] for span in row["spans"]]
    assert any(re.search(rb"The pass key is [1-9]\d{4}\.", text.data(ids)) for ids in spans)
    slm("resume", folder / "run", "--step", 2, "-o", "branch", "--no-eval", code=0)
    assert Path("branch/model.safetensors").read_bytes() == (folder / "run" / "model.safetensors").read_bytes()


def mixed(data: RunData, given: float | DataSource) -> Mixture:
    base = Mixture([Component(PackedStream(data.train), "data")])
    assert data.tokenizer is not None
    source = given if isinstance(given, DataSource) else DataSource(passkey=given)
    return base.with_generated(
        passkey_text.passkeys(Text(data.tokenizer, data.vocab), source, 256, "0", base.delimiters)
    )


def test_the_answer_alone_is_scored(folder):
    """Of each task that a batch holds, its number and the end of the document are targets, and nothing before."""
    Path("own.yaml").write_text("needle: 'Key {key}.'\nquestion: Key?\n")
    data = open_data(str(folder / "data"))
    own = DataSource(passkey=0.5, digits=3, template="own.yaml", loss_on="answer")
    source, plain = mixed(data, own), mixed(data, own.model_copy(update={"loss_on": "all"}))
    assert source.digest != plain.digest
    block, text = source.block(0), Text(folder / "tok.json", data.vocab)
    first = data.train.block(0).n_docs
    packing = make_packing("best_fit", block.lengths(), 256, unscored=block.unscored())
    batch = make_batch(block, packing, data.vocab, np.arange(len(packing)))
    assert int((batch.targets == data.vocab.specials["eos"]).sum()) == block.n_docs
    tasks = 0
    for row in range(len(packing)):
        for doc, start, stop, column in packing.spans(row):
            columns = slice(column, column + stop - start)
            scored = batch.targets[row, columns][batch.target_mask[row, columns]].tolist()
            if doc < first:
                assert len(scored) == stop - start
                continue
            tasks += 1
            whole = text.data(block.ids(doc, 0, int(block.lengths()[doc])).tolist()).decode()
            key = re.search(r"Key (\d{3})\.", whole)[1]
            assert scored[-1] == data.vocab.specials["eos"] and text.data(scored).decode() == f" {key}"
    assert tasks == block.n_docs - first > 10


def test_documents_repeat_where_the_share_is_large(folder, monkeypatch):
    monkeypatch.setattr(passkey_text, "MAX_DISTINCT", 5)
    data = open_data(str(folder / "data"))
    block = mixed(data, 0.5).block(0)
    added = block.lengths()[data.train.block(0).n_docs :]
    assert int(added.sum()) / int(block.lengths().sum()) == pytest.approx(0.5, abs=0.02)
    assert added[:5].tolist() == added[5:10].tolist()


def test_what_training_with_passkeys_refuses(folder, slm):
    def sources(share: str) -> str:
        return f"data.train=[{folder / 'data'}, {{passkey: {share}}}]"

    assert "a share such as 5% or 0.05" in slm("train", "--set", sources("lots")).err
    err = slm("train", "--set", sources("5%"), "--set", "model.seq_len=64", code=2).err
    assert "passkey tasks do not fit into sequences of 64 ids" in err
    fits = re.search(r"--set (model\.seq_len=\d+) or more", err)
    assert fits
    line = ("train", "--set", sources("5%"), "--budget", "steps=1", "--preset", "cpu-demo", "-o", "fits")
    assert slm(*line, "--set", fits[1], code=0).code == 0
    stage = "data.stages=[{from_step: 1}, {from_step: 2, seq_len: %d}]"
    line = (
        "train",
        "--set",
        sources("5%"),
        "--budget",
        "steps=3",
        "--preset",
        "cpu-demo",
        "--set",
        "model.seq_len=128",
    )
    err = slm(*line, "--set", stage % 64, "-o", "staged", code=2).err
    says = r"data.stages: passkey tasks do not fit into sequences of 64 ids, the seq_len from step 2 on"
    assert re.search(says + r"[^$]*fix:   seq_len: (\d+) in that stage or more", err), err
    assert fits[1].partition("=")[2] in err and "--set" not in err.partition("fix:")[2]
    from slmmodel.trainer import train

    with pytest.raises(OptionError, match=r"data.train is a list of sources"):
        train({"data.train": [str(folder / "data"), {"passkey": "5%"}], "run.device": "cpu"}, output="lib")
    assert not Path("run").exists() and not Path("lib").exists()


def test_a_short_context_has_the_command_that_trains_a_longer_one(folder, slm, monkeypatch):
    monkeypatch.chdir(folder)
    short = Path("run.yaml").read_text().replace("seq_len: 256", "seq_len: 32")
    Path("short.yaml").write_text(short.replace("data: [data, {passkey: 10%}]", "data: [data]"))
    slm("train", "--config", "short.yaml", "-o", "short", "-q", "--no-eval", code=0)
    Path("single.yaml").write_text(short.replace("data: [data, {passkey: 10%}]", "data: {train: data}"))
    slm("train", "--config", "single.yaml", "-o", "single", "-q", "--no-eval", code=0)
    for words, length in ((["single"], 128), (["single", "--lengths", "1K"], 1024)):
        ran = slm("passkey", *words, code=1)
        line = shlex.split(ran.err.partition("  fix:   ")[2].partition(", or shorter")[0])
        assert line[:3] == ["slm", "train", "--config"] and f"model.seq_len={length}" in line, ran.err
        slm(*line[1:], "--dry-run", code=0)
    assert "fix:   a run with model.seq_len 128, or shorter sentences" in slm("passkey", "short", code=1).err
    Path("short.yaml").write_text(short)
    ran = slm("train", "--config", "short.yaml", "-o", "new", "-q", code=2)
    sets = shlex.split(ran.err.partition("  fix:   ")[2].partition(" or more")[0])
    assert sets[2:3] == ["--set"] and sets[3].startswith("run.batch_tokens="), ran.err
    slm("train", "--config", "short.yaml", "-o", "new", "--dry-run", *sets, code=0)


def test_the_command(folder, slm):
    ran = slm("passkey", folder / "run", "--lengths", "200,256", "--depths", "0,100", "--samples", 3, code=0)
    assert "/3  0-56 %" in ran.out and "256 ids" in ran.out and "chance 1e-05" in ran.out
    assert "passkeys: 10.0% of the training ids, with other numbers" in ran.out
    written = folder / "run" / "eval" / "passkey.json"
    content = json.loads(written.read_text())
    assert content["kind"] == "passkey" and len(content["payload"]["cells"]) == 4
    assert "proven" in slm("passkey", folder / "run", "--check", written, code=0).out
    slm(
        "train", folder / "data", "--config", folder / "run.yaml", "-o", "other", "--seed", 1, "-q", "--no-eval", code=0
    )
    wrong = slm("passkey", "other", "--check", written, "--json", code=3).json["result"]["differences"]
    assert "model" in wrong


def test_the_picture(folder, slm):
    pytest.importorskip("matplotlib")
    arguments = ("passkey", folder / "run", "--lengths", 200, "--depths", "0,50", "--samples", 2, "-o", "x.json")
    ran = slm(*arguments, "--plot", "x.png", "--json", code=0).json["result"]
    assert Path("x.png").read_bytes().startswith(b"\x89PNG") and Path("x.json").is_file()
    assert [cell["depth"] for cell in ran["cells"]] == [0, 50]
    assert "exists" in slm(*arguments, code=1).err


def test_result_and_picture_are_written_together(folder, slm, monkeypatch):
    """Ctrl-C while the picture is drawn leaves neither; a picture that cannot be drawn or written leaves the result."""
    pytest.importorskip("matplotlib")
    arguments = ("passkey", folder / "run", "--lengths", 200, "--depths", 0, "--samples", 1, "-o", "x.json")
    drawn: list[type[BaseException] | None] = [KeyboardInterrupt, ArithmeticError, None]

    def heat_map() -> Any:
        if drawn[0] is not None:
            raise drawn[0]
        Path("x.svg").touch()
        return figure_class()

    monkeypatch.setattr("slmmodel.cli.passkey.figure_class", heat_map)
    slm(*arguments, "--plot", "x.svg", code=130)
    assert not list(Path().iterdir())
    for _ in range(2):
        del drawn[0]
        slm(*arguments, "--plot", "x.svg", code=1)
        assert [path.name for path in Path().iterdir() if path.stat().st_size] == ["x.json"]
        Path("x.json").unlink()
    Path("x.svg").unlink()
    monkeypatch.setattr("slmmodel.cli.passkey.figure_class", figure_class)
    slm(*arguments, "--plot", "x.svg", code=0)
    assert sorted(path.name for path in Path().iterdir()) == ["x.json", "x.svg"]


def test_own_sentences(folder, slm):
    Path("t.yaml").write_text("needle: The code of the door is {key}.\nquestion: The code of the door is\n")
    slm(
        "passkey",
        folder / "run",
        "--template",
        "t.yaml",
        "--lengths",
        256,
        "--depths",
        0,
        "--samples",
        1,
        "-o",
        "x",
        code=0,
    )
    assert json.loads(Path("x").read_text())["payload"]["template"]["question"] == "The code of the door is"
    for content, says in [
        ("needle: nothing here\n", "needle is 'nothing here'"),
        ("needle: nothing\nanswer: none here\n", "needle is 'nothing' and answer is 'none here'"),
        ("needle: nothing\nanswer: none here\n", "limit: {key} in needle and answer, not in the other sentences"),
        ("needle: nothing\nanswer: none here\n", " is the pass key.'; answer: ' {key}'\n"),
        ("nedle: '{key}'\n", "did you mean 'needle'?"),
        ("a:\n\tb", "has a tab where YAML takes spaces"),
        ("- 1\n", "is not a table of texts"),
        ('needle: "x {key}\\ud800"\n', "needle of t.yaml holds half of a surrogate pair"),
    ]:
        Path("t.yaml").write_text(content)
        ran = slm("passkey", folder / "run", "--template", "t.yaml")
        assert ran.code in (1, 2) and says in ran.err, ran.err


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("--lengths", "1K"), 1, "a length of 1,024 ids is beyond the context of the model"),
        (("--lengths", "50"), 1, "the passkey task does not fit into 50 ids"),
        (("--lengths", "a"), 2, "takes lengths in ids such as 512,1K,4K"),
        (("--depths", "101"), 2, "takes per cents from 0 to 100"),
        (("--digits", "1"), 2, "--digits is 1"),
        (("--digits", "2", "--samples", "14"), 2, "13 different numbers of 2 digits are for evaluation"),
        (("--ignore-memory",), 1, "the model has no memory to ignore, model.arch is llama"),
        (("--plot", "x.pdf"), 2, "is not a picture"),
    ],
)
def test_wrong_options(folder, slm, options, code, says):
    assert says in slm("passkey", folder / "run", *options, code=code).err
    assert not list(Path().iterdir())


def test_lengths_in_another_notation_become_those_that_the_run_can_have(folder, slm):
    for given in ("64-110", "64", "64 9000", "50,9000"):
        ran = slm("passkey", folder / "run", "--lengths", given)
        least = re.search(r"limit: (\d+) ids without any filler", ran.err)[1]
        fix = fix_of(ran)
        assert fix == (f"--lengths {least}" if given in ("64-110", "64") else f"--lengths {least},256")
    assert slm("passkey", folder / "run", *fix.split(), "--samples", 1, "--depths", "0", code=0)


def test_lengths_are_refused_before_torch_is_loaded(folder):
    line = ["passkey", str(folder / "run"), "--lengths", "8"]
    code = f"import sys\nfrom slmmodel.cli import main\nprint(main({line!r}), 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "1 False\n" and "the passkey task does not fit into 8 ids" in done.stderr


def test_the_numbers_of_a_cell_differ(folder):
    """The interval of a share takes samples for independent; the same task has the same answer."""
    data = open_data(str(folder / "data"))
    maker = passkey_text.TaskMaker(Text(folder / "tok.json", data.vocab), [], digits=2)
    keys = [task.key for task in passkey_text.evaluation_tasks(maker, 256, 0.5, 13, 0)]
    assert sorted(keys) == [str(number) for number in range(14, 99, 7)]
    assert [passkey_text.evaluation_numbers(digits) for digits in (2, 3, 5)] == [13, 128, 12857]


@pytest.mark.parametrize(("nats", "points"), [((1.0, 2.0), 1.0), ((2.0, 2.0), 0.5), ((2.0, 1.0), 0.0)])
def test_sentences_that_are_equally_likely_count_half(nats, points):
    assert _points(*nats) == points


def test_minimal_pairs(folder, slm):
    lines = [
        {
            "sentence_good": "Ada saw 3 birds in the tree.",
            "sentence_bad": "Zq%@ #!& ^~ xx zz qq jj vv ww.",
            "field": "a",
        },
        {"sentence_good": "Zq%@ #!& ^~ xx zz qq jj vv.", "sentence_bad": "Ada saw 3 birds.", "field": "a"},
        {"sentence_good": "Ada saw a bird.", "sentence_bad": "@@ @@ ^~ !& qq #.", "field": "b"},
    ]
    Path("p.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    groups = slm("pairs", folder / "run", "p.jsonl", "--by", "field", "--json", code=0).json["result"]["groups"]
    assert {name: (line["pairs"], line["right"], line["ties"]) for name, line in groups.items()} == {
        "all": (3, 2.0, 0),
        "a": (2, 1.0, 0),
        "b": (1, 1.0, 0),
    }
    batched = slm("pairs", folder / "run", "p.jsonl", "--by", "field", "--batch-size", 1, "--json", code=0)
    assert batched.json["result"]["groups"] == groups
    for content, says in [
        ("", "p.jsonl has no pairs"),
        ("{}\n", "fields: none"),
        ("{", "a line is not JSON"),
        ('{"sentence_good": "x"}', "a pair has no text 'sentence_bad'"),
        (json.dumps({"sentence_good": "x " * 600, "sentence_bad": "y"}), "a sentence has"),
        (json.dumps({"sentence_good": "x", "sentence_bad": "x"}), "the two sentences of a pair are equal: 'x'"),
    ]:
        Path("p.jsonl").write_text(content)
        assert says in slm("pairs", folder / "run", "p.jsonl", code=1).err


@pytest.mark.parametrize("length", ["16777216", "9" * 30])
def test_no_filler_is_made_for_a_length_that_cannot_be(folder: Path, monkeypatch, capsys, length: str) -> None:
    """It was made before the length was compared with the context of the model, in gigabytes of memory."""
    from slmmodel.cli import main

    monkeypatch.chdir(folder)
    monkeypatch.setattr(TaskMaker, "make", None)
    assert main(["passkey", "run", "--lengths", length]) in (1, 2)
    error = capsys.readouterr().err
    fact = "--lengths takes lengths up to 16,777,216 ids" if length[0] == "9" else "is beyond the context of the model"
    assert fact in error
