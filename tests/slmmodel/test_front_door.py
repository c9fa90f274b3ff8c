"""The front door in Python: a run for ids, and the same run for text."""

from __future__ import annotations

import copy
import io
import json
import math
import os
import pickle
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked_commands import PYTHON

import slmmodel
import slmtok
from slmmodel import app
from slmmodel.errors import InvalidInput, MissingInput, NotFinite, OptionError
from slmtok.shards import pack

torch = pytest.importorskip("torch")
made_runs = pytest.importorskip("made_runs")
TEXT = "once upon a time there was a little fox. the fox saw a tree. the tree was tall. " * 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a tokenizer, beside its packed data."""
    place = tmp_path_factory.mktemp("run")
    tok = slmtok.train(iter([TEXT]), vocab_size=290)
    tok.save(place / "tok.json")
    (place / "text.txt").write_text("\n".join(TEXT[at : at + 60] for at in range(0, len(TEXT), 60)))
    pack(place / "text.txt", tok, place / "data", document="line", val="hash:20%")
    content = (place / "tok.json").read_bytes()
    shape = {"n_layers": 2, "d_model": 32, "seq_len": 40}
    return Path(made_runs.write_run(place / "run", place / "data", tokenizer=content, noise=0.1, **shape).path)


@pytest.fixture
def slm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    from slmmodel.cli import main

    def call(*arguments: object) -> Any:
        assert main([str(argument) for argument in arguments]) == 0
        return json.loads(capsys.readouterr().out)["result"]

    return call


@pytest.fixture
def run(folder: Path) -> Any:
    return slmmodel.load(folder, device="cpu")


def test_what_a_run_is(run: Any, folder: Path) -> None:
    assert run.path == folder and run.vocab.n_vocab == 290 and run.config["model"]["seq_len"] == 40
    assert repr(run) == f"Run({str(folder)!r}, llama, n_vocab=290, finished)"
    assert slmmodel.__version__ == slmtok.__version__
    with pytest.raises(MissingInput, match="not a run folder"):
        slmmodel.load(folder.parent)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda run: pickle.loads(pickle.dumps(run))])
def test_copies_of_a_run(folder: Path, copied: Any) -> None:
    """Processes that are spawned get a run as a pickle."""
    for opened, prompt in ((slmmodel.load(folder, device="cpu"), [1, 100]), (app.load(folder, device="cpu"), "the")):
        again = copied(opened)
        assert repr(again) == repr(opened)
        assert again.generate(prompt, max_new_tokens=5) == opened.generate(prompt, max_new_tokens=5)


def test_generated_ids_equal_those_of_the_command(run: Any, folder: Path, slm: Any) -> None:
    ran = slm("sample", folder, "--ids", "1 280 20", "--max-new", 12, "--seed", 3, "--json")
    want = ran["samples"][0]["ids"]
    assert run.generate([1, 280, 20], max_new_tokens=12, seed=3, temperature=0.8) == want
    assert run.generate(np.array([1, 280, 20]), max_new_tokens=12, seed=3, temperature=0.8) == want
    assert run.generate(max_new_tokens=4, seed=1) == run.generate([1], max_new_tokens=4, seed=1)


def test_scores_add_up_to_those_of_evaluation(run: Any) -> None:
    found = run.evaluate()
    source = slmmodel.run.open_source(run.config["data"]["train"], "val", vocab=run.vocab)
    block = source.block(0)
    nats = [run.score(block.ids(doc, 0, int(length))) for doc, length in enumerate(block.lengths())]
    assert np.concatenate(nats) == pytest.approx(found.nats, rel=1e-6)
    assert found.bpb_total > 0


def test_a_model_in_training_mode_is_read_without_dropout(folder: Path, tmp_path: Path) -> None:
    """As a notebook leaves it that trains `run.model` further; it stays in that mode."""
    shape = {"n_layers": 2, "d_model": 32, "seq_len": 40, "dropout": 0.5}
    path = made_runs.write_run(tmp_path / "run", folder.parent / "data", noise=0.1, **shape).path
    run, ways = slmmodel.load(path, device="cpu"), ({"beam": 3}, {"contrastive": 0.3}, {"dola": "low"}, {"seed": 1})

    def read() -> list[Any]:
        texts = [run.generate([1, 100, 101], max_new_tokens=8, **way) for way in ways]
        assisted = run.generate([1, 100], max_new_tokens=8, assistant=run)
        return [*texts, assisted, run.score([1, 100, 101, 102]).tolist(), run.evaluate().bpb_total]

    want = read()
    run.model.train()
    assert read() == want and run.model.training


def test_weights_whose_logits_are_not_finite_score_nothing(run: Any) -> None:
    """They are finite themselves."""
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.clamp_(-1, 1).mul_(1e18)
    for call in (run.score, run.generate):
        with pytest.raises(NotFinite, match="the logits of the model are not finite"):
            call([1, 100, 101])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda run: run.generate([290]), InvalidInput),
        (lambda run: run.generate([1], top_p=2.0), OptionError),
        (lambda run: run.score([]), InvalidInput),
        (lambda run: run.score([1] * 42), InvalidInput),
    ],
)
def test_refused_arguments(run: Any, call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(run)


def test_the_same_with_text(run: Any, folder: Path) -> None:
    text_run = app.load(folder, device="cpu")
    tok = text_run.tokenizer
    prompt = [1, *tok.encode_list("once upon")]
    new = run.generate(prompt, max_new_tokens=10, seed=2)
    assert text_run.generate("once upon", max_new_tokens=10, seed=2) == tok.decode(new, skip_special=True)
    bits = run.score([1, *tok.encode_list("the fox")]).sum() / math.log(2)
    assert text_run.score("the fox") == pytest.approx(bits / 7)
    assert app.load(folder, tokenizer=folder / "tok.json", device="cpu").tokenizer == tok


@pytest.mark.parametrize(
    ("options", "without"),
    [({}, ""), ({"beam": 2}, " without beam"), ({"contrastive": 0.3}, " without contrastive")],
)
def test_an_end_of_the_context_before_the_ids_that_were_asked_for_warns(
    run: Any, folder: Path, options: dict[str, Any], without: str
) -> None:
    text_run = app.load(folder, device="cpu")
    for opened, prompt in ((run, [1, 100]), (text_run, "the")):
        # The model never ends a document before.
        said = rf"after \d+, at the end of the context, not at max_new_tokens=99; overflow='slide'{without} continues"
        with pytest.warns(UserWarning, match=said) as caught:
            opened.generate(prompt, max_new_tokens=99, stop_ids=(), **options)
        assert [each.filename for each in caught] == [__file__]
        # Nothing was asked for, or all of it was given.
        opened.generate(prompt, stop_ids=(), **options)
        opened.generate(prompt, max_new_tokens=5, **options)
    assert len(run.generate([1], max_new_tokens=99, stop_ids=(), overflow="slide")) == 99


@pytest.mark.parametrize("way", ["beam 2", "contrastive 0.3"])
def test_the_note_on_an_end_of_the_context_names_what_slide_is_refused_with(
    folder: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    from slmmodel.cli import main

    line = ["sample", str(folder), "--prompt", "the", "--max-new", "99"]
    assert main([*line, *f"--{way}".split()]) == 0
    said = f"--overflow slide without --{way.split()[0]} continues"
    assert said in capsys.readouterr().err
    assert main([*line, "--overflow", "slide"]) == 0 and "end of the context" not in capsys.readouterr().err


FORKED = """
import os, signal, sys, torch, slmmodel
run = slmmodel.load(sys.argv[1])
torch.set_num_threads(2)
torch.randn(400_000).exp().sum()  # starts OpenMP's threads
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    torch.randn(400_000).exp().sum()
    run.generate([5, 6, 7], max_new_tokens=2)
    os._exit(7)
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_generates(folder: Path, commands: Mapping[str, str]) -> None:
    assert subprocess.run([PYTHON, "-c", FORKED, str(folder)], env=commands, check=False).returncode == 7


WITHOUT_IMPORTS: list[Any] = [
    lambda: app.train(["once upon a time.", "a fox saw a tree."], tokenizer="tok.json", output="new"),
    lambda: app.train("once upon a time there was a fox", tokenizer="tok.json", output="new"),
    lambda: app.train([[1, 2], [3]], tokenizer="tok.json", output="new"),
    lambda: app.train([1, 2, 3], tokenizer="tok.json", output="new"),
    lambda: app.train(io.StringIO("a fox"), tokenizer="tok.json", output="new"),
    lambda: app.train([{"text": "a fox"}], tokenizer="tok.json", output="new"),
    lambda: app.train(iter(["once upon a time.", "a fox saw a tree."]), tokenizer="tok.json", output="new"),
    lambda: app.train("text.txt", output="new"),
    lambda: app.train(slmtok.load("data"), "text.txt", output="new"),
    lambda: app.load("run").score([1, 30]),
    lambda: app.load("run").score([[1], [30, 31]]),
    lambda: app.load("run").score(["a fox", "a tree"]),
    lambda: app.load("run").score("once upon a time " * 99),
    lambda: app.load("run").score(Path("text.txt")),
    lambda: app.load("run").generate([1, 30], max_new_tokens=2),
    lambda: app.load("run").generate(ids=[1, 30]),
    lambda: app.load("run").generate(["a fox", "a tree"]),
    lambda: app.load("run").generate("a", stream=True),
    lambda: app.load("run").generate("a", num_return_sequences=2),
    lambda: app.load("run").generate("once upon a time " * 99, overflow="error"),
    lambda: app.load("run").evaluate("once upon a time there was a fox"),
    lambda: app.load("run").evaluate(["once upon a time.", "a fox saw a tree."]),
    lambda: app.load("run").evaluate([1, 30, 31]),
    lambda: app.load("run").evaluate("text.txt", separator="\n"),
    lambda: app.load("run").from_pretrained,
    lambda: app.load("run").encode,
    lambda: app.load_ablation("run"),
    lambda: app.ablate,
    lambda: app.GPT,
    lambda: app.AutoModel,
]


@pytest.mark.parametrize("call", WITHOUT_IMPORTS)
def test_a_fix_imports_what_it_calls(call: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a module that has imported `app` alone."""
    monkeypatch.chdir(folder.parent)
    with pytest.raises(Exception) as caught:
        call()
    fix = str(caught.value).partition("\n  fix:   ")[2]
    for package in ("slmmodel", "slmtok"):
        if called := re.search(rf"\b{package}(\.\w+)+\(", fix):
            imported = [*re.finditer(rf"\bimport (\w+, )*{package}\b", fix[: called.start()])]
            assert imported, fix
            # Prose may follow the statement.
            ends = [found.start() for found in re.finditer(r"[,; ]|$", fix) if found.start() > called.end()]
            assert any(_compiles(fix[imported[-1].start() : end]) for end in ends), fix


def _compiles(code: str) -> bool:
    with suppress(SyntaxError):
        return compile(code, "fix", "exec") is not None
    return False
