"""`slm sample`, `next`, `export` and `info` on a run with a small tokenizer and a model of random weights."""

from __future__ import annotations

import io
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from made_runs import write_run

from slmmodel import app
from slmmodel.checkpoint import RunFolder
from slmmodel.cli.text import TextDecoder
from slmmodel.decoding_options import DecodingOptions, SampleConfig
from slmmodel.errors import Mismatch, MissingInput, OptionError
from slmmodel.generation import generate
from slmmodel.models.presets import PRESETS
from slmmodel.sampling import SamplingOptions

TEXT = "once upon a time there was a little fox. the fox saw a tree. the tree was tall. " * 30


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import slmtok

    path = tmp_path_factory.mktemp("tok") / "tok.json"
    text = path.with_name("text.txt")
    text.write_text(TEXT)
    slmtok.train(str(text), vocab_size=290).save(path)
    return path


@pytest.fixture
def run(tokenizer: Path, tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", tokenizer)


def make_run(folder: Path, tokenizer: Path, *, with_tokenizer: bool = True, **changes: Any) -> Path:
    """A run with a model of random weights and this tokenizer."""
    import slmtok

    (folder.parent / "vocab.json").write_text(json.dumps(slmtok.load(tokenizer).metadata()))
    content = tokenizer.read_bytes() if with_tokenizer else None
    shape = {"n_layers": 2, "d_model": 32, "seq_len": 40, **changes}
    return write_run(folder, folder.parent, tokenizer=content, noise=0.1, **shape).path


def test_a_sample_is_text_behind_its_prompt(slm: Any, run: Path) -> None:
    ran = slm("sample", run, "--prompt", "once upon", "--max-new", 12, "--seed", 3, code=0)
    assert ran.out.startswith("once upon")
    told = slm("sample", run, "--prompt", "once upon", "--max-new", 12, "--seed", 3, "--json").json["result"]
    assert ran.out == f"once upon{told['samples'][0]['text']}\n"
    assert told["mode"] == "draw" and len(told["samples"][0]["ids"]) == 12


@pytest.mark.parametrize("is_terminal", [False, True])
def test_control_characters_are_escaped_on_a_terminal(slm: Any, run: Path, monkeypatch: Any, is_terminal: bool) -> None:
    """A file or pipe gets what the model wrote."""

    class Stream(io.TextIOWrapper):
        def isatty(self) -> bool:
            return is_terminal

    monkeypatch.setattr(io, "TextIOWrapper", Stream)
    prompt = "The \x1b]0;title\x07\x9b"
    ran = slm("sample", run, "--prompt", prompt, "--max-new", 1, code=0)
    assert ran.out.startswith(prompt.encode("unicode_escape").decode() if is_terminal else prompt)


def test_a_prompt_that_is_typed(slm: Any, run: Path, monkeypatch: Any) -> None:
    ours, theirs = os.openpty()
    os.write(ours, b"once upon\n\x04")
    with os.fdopen(theirs) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        told = slm("sample", run, "--prompt", "-", "--max-new", 2, code=0).err
    os.close(ours)
    assert told.count("note: input is read from the terminal; Ctrl-D ends it\n") == 1


def test_the_prompt_as_an_argument(slm: Any, run: Path) -> None:
    long = slm("sample", run, "--prompt", "once upon", "--max-new", 4, code=0)
    assert slm("sample", run, "once upon", "--max-new", 4, code=0) == long
    assert "TEXT and --prompt together" in slm("sample", run, "once", "-p", "upon", code=2).err
    for command in ("sample", "logprobs"):
        shutil.copytree(run, Path(command), dirs_exist_ok=True)
        err = slm(command, run, command, "-p", "upon", code=2).err
        assert f"two runs: {str(run)!r} and {command!r}" in err
        assert f"fix:   slm {command} {run} -p upon && slm {command} {command} -p upon\n" in err


@pytest.mark.parametrize(
    ("ids", "fix"),
    [("ROMEO :", "--prompt 'ROMEO :', which encodes the text"), ("(1; 340;27)", "--ids '1 340 27'"),
     ("1 x", "--prompt '1 x', which encodes the text")],
)  # fmt: skip
def test_a_text_in_the_place_of_ids_is_a_prompt(slm: Any, run: Path, ids: str, fix: str) -> None:
    assert f"fix:   {fix}\n" in slm("logprobs", run, "--ids", ids, code=2).err


def test_a_start_in_a_file_is_read_by_the_fix(slm: Any, run: Path, monkeypatch: Any) -> None:
    """nanoGPT reads the prompt from the file after `FILE:`."""
    monkeypatch.chdir(run.parent)
    Path("my prompt.txt").write_text("once upon\n")
    refused = slm("sample", run, "--start=FILE:my prompt.txt")
    assert "  fix:   use --prompt \"$(cat 'my prompt.txt')\"\n" in refused.err
    assert "  fix:   use --prompt FILE:none.txt\n" in slm("sample", run, "--start=FILE:none.txt").err


def test_a_lost_tokenizer_is_replaced(slm: Any, run: Path, tokenizer: Path) -> None:
    whole = slm("sample", run, "once upon", "--max-new", 4, code=0)
    (run / "tok.json").unlink()
    assert slm("sample", run, "once upon", "--max-new", 4, "-t", tokenizer, code=0) == whole
    ran = slm("sample", run, "once upon", code=1)
    assert "needs the tokenizer" in ran.err and "fix:   -t tok.json" in ran.err
    assert "NO: " in slm("doctor", run, code=3).out


def test_samples_equal_the_library_and_each_alone(slm: Any, run: Path) -> None:
    bundle = RunFolder.open(run)
    made = slm("sample", run, "--ids", "1 40 41", "--n", 3, "--max-new", 9, "--seed", 5, "--json").json["result"]
    banned = tuple(id for id in range(16) if id != 2)
    options = SamplingOptions(temperature=0.8, seed=5, banned=banned, stop_ids=(2,))
    own = generate(bundle.model(), [[1, 40, 41]] * 3, options, max_new_tokens=9)
    assert [sample["ids"] for sample in made["samples"]] == [sample.ids for sample in own]
    assert len({tuple(sample["ids"]) for sample in made["samples"]}) == 3
    alone = slm("sample", run, "--ids", "1 40 41", "--max-new", 9, "--seed", 5, "--json").json["result"]
    assert alone["samples"][0] == made["samples"][0]


WAYS: list[list[Any]] = [["--greedy"], ["--temperature", 0], ["--beam", 1], ["--contrastive", 0], ["--top-k", 1]]
WAYS += [["--contrastive", 0.6, "--contrastive-k", 1], ["--top-p", 1e-9]]


@pytest.mark.parametrize("way", WAYS)
def test_greedy_by_every_flag(slm: Any, run: Path, way: list[Any]) -> None:
    ran = slm("sample", run, "-p", "the fox", "--max-new", 8, "--json", *way, code=0)
    greedy = slm("sample", run, "-p", "the fox", "--max-new", 8, "--json", "--greedy").json["result"]["samples"][0]
    assert ran.json["result"]["samples"][0]["ids"] == greedy["ids"]


FLAGS: list[list[Any]] = [["--top-k", 5], ["--top-p", 0.5], ["--min-p", 0.2], ["--temperature", 3], ["--seed", 9]]
FLAGS += [["--repetition-penalty", 2], ["--frequency-penalty", 9], ["--presence-penalty", 9], ["--no-repeat-ngram", 1]]
FLAGS += [
    ["--beam", 4],
    ["--beam", 4, "--beam-groups", 2, "--diversity-penalty", 9],
    ["--contrastive", 0.9],
    ["--beam-sample", 3],
    ["--dola", "low"],
    ["--regex", "[0-9]{9}"],
    ["--min-new", 30],
    ["--max-new", 3],
    ["--overflow", "slide"],
]


@pytest.mark.parametrize("flag", FLAGS)
def test_every_flag_reaches_its_sampler(slm: Any, run: Path, flag: list[Any]) -> None:
    """Long enough that each of them changes something."""
    given, usual = ["sample", run, "-p", "the fox", "--json"], {"--max-new": 60, "--temperature": 0.5}
    kept = {name: value for name, value in usual.items() if name != flag[0]}
    if flag[0] in ("--beam", "--contrastive"):
        del kept["--temperature"]
    plain, changed = (slm(*given, *itertools.chain(*each.items()), *more) for each, more in ((usual, []), (kept, flag)))
    assert (plain.code, changed.code) == (0, 0), changed.err
    assert plain.json["result"]["samples"][0]["ids"] != changed.json["result"]["samples"][0]["ids"]


def test_an_assistant_changes_the_time_alone(slm: Any, run: Path, tokenizer: Path) -> None:
    small = make_run(run.parent / "small", tokenizer, n_layers=1, d_model=16)
    given = ["sample", run, "-p", "the", "--max-new", 12, "--json"]
    greedy, assisted = slm(*given, "--greedy"), slm(*given, "--greedy", "--assistant", small, "--lookahead", 3)
    assert assisted.json["result"]["samples"] == greedy.json["result"]["samples"]
    assert assisted.json["result"]["mode"] == "assisted" and 0 <= assisted.json["result"]["acceptance_rate"] <= 1
    drawn = slm(*given, "--assistant", small, "--n", 2, "--seed", 1).json["result"]["samples"]
    assert drawn == slm(*given, "--assistant", small, "--n", 2, "--seed", 1).json["result"]["samples"]
    assert drawn[0]["ids"] != drawn[1]["ids"]
    texts = [app.load(path, device="cpu") for path in (run, small)]
    text = texts[0].generate("the", max_new_tokens=12, temperature=0.8, seed=1, assistant=texts[1])
    assert text == drawn[0]["text"]
    for wrong in (["--beam", 2], ["--contrastive", 0.5], ["--dola", "low"], ["--overflow", "slide"]):
        ran = slm(*given, "--assistant", small, *wrong, code=2)
        assert "assistant" in ran.err and ("together" in ran.err or "no effect" in ran.err)
    with pytest.raises(TypeError, match="not a Run"):
        texts[0].run.generate([1], assistant=str(small))


def test_a_sample_is_one_of_the_choices(slm: Any, run: Path) -> None:
    choices = [" fox", " little tree"]
    given = [part for choice in choices for part in ("--choice", choice)]
    found = slm("sample", run, "-p", "the", *given, "--n", 5, "--json").json["result"]["samples"]
    assert {sample["text"] for sample in found} <= set(choices) and {sample["reason"] for sample in found} == {"stop"}
    story = app.load(run, device="cpu")
    assert story.generate("the", choices=choices, temperature=0) in choices
    with pytest.raises(TypeError, match="list of str"):
        story.generate("the", choices=" fox")


def test_choices_that_are_no_texts_become_those_that_are_meant(run: Path) -> None:
    """Rows of ids were proposed as text: '[137, 315]' was generated."""
    import slmtok

    story, tok = app.load(run, device="cpu"), slmtok.load(str(run / "tok.json"))
    texts = [" fox", " tree"]
    rows = [tok.encode_list(text) for text in texts]
    numbers = f"['20', '21'], for the numbers as text; for ids choices={[tok.decode([20]), tok.decode([21])]}"
    for choices, fix in (
        (rows, f"{texts}"),
        ([np.array(row) for row in rows], f"{texts}"),
        ([texts], f"{texts}"),
        ([text.encode() for text in texts], f"{texts}"),
        ([20, 21], numbers),
        ([1.5, 70000], "['1.5', '70000'], for the numbers as text"),
        ([None, "a"], "[' yes', ' no'], for instance"),
    ):
        with pytest.raises(TypeError, match="choices is a list of str, not of ") as caught:
            story.generate("the", choices=choices)
        assert caught.value.fix == f"choices={fix}"
    assert story.generate("the", choices=texts) in texts
    for given, fix in (
        (texts, f"choices=[tok.encode_list(text) for text in {texts}]"),
        (" fox", "choices=[tok.encode_list(text) for text in [' fox']]"),
        ([280, 281], "choices=[[280], [281]], of one id each"),
    ):
        with pytest.raises(ValueError, match=r"choices has .*, which is no row of ids") as wrong:
            story.run.generate([1], choices=given)
        assert wrong.value.fix == fix
    assert story.run.generate([1], choices=rows)[: len(rows[0])] in rows
    assert story.run.generate([1], choices=[[280], [281]])[0] in (280, 281)


def test_an_assistant_has_the_same_tokenizer(slm: Any, run: Path, tmp_path: Path) -> None:
    import slmtok

    other = tmp_path / "other" / "tok.json"
    other.parent.mkdir()
    slmtok.train(slmtok.Texts(["another text"] * 9), vocab_size=275).save(other)
    small = make_run(tmp_path / "other" / "run", other)
    assert "another tokenizer" in slm("sample", run, "-p", "the", "--assistant", small, code=1).err


def test_a_beam_gives_its_best(slm: Any, run: Path) -> None:
    told = slm("sample", run, "-p", "the", "--beam", 4, "--n", 3, "--max-new", 6, "--json").json["result"]
    scores = [sample["score"] for sample in told["samples"]]
    assert told["mode"] == "beam" and scores == sorted(scores, reverse=True) and len(scores) == 3
    assert slm("sample", run, "-p", "the", "--beam", 4, "--early-stopping", "--length-penalty", 0).code == 0


def test_a_stop_string_with_a_backslash_is_quoted_as_typed(slm: Any, run: Path) -> None:
    err = slm("sample", run, "-p", "the", "--max-new", 2, "--stop", r"\n", "--stop", r"it's\t", code=0).err
    assert r"--stop '\n' has a backslash and a letter; for the character" in " ".join(err.split())
    assert r"--stop $'\n' --stop $'it\'s\t'" in " ".join(err.split())
    err = slm("sample", run, "-p", "the", "--choice", r"a\n", "--choice", "b", code=0).err
    assert r"--choice 'a\n' has a backslash and a letter; for the character: --choice $'a\n'" in err


@pytest.mark.parametrize("command", ["sample run --max-new 1 --prompt", "sample run --max-new 1", "logprobs run"])
def test_a_prompt_with_a_backslash_is_quoted_as_typed(slm: Any, run: Path, command: str) -> None:
    err = " ".join(slm(*command.split(), r"The:\n", code=0).err.split())
    assert r"--prompt 'The:\n' has a backslash and a letter; for the character: --prompt $'The:\n'" in err
    assert "backslash" not in slm(*command.split(), 'print("a\\n")\nThe', code=0).err


def test_a_prompt_of_a_report_with_a_backslash_is_quoted_as_typed(
    slm: Any, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = SimpleNamespace(html="")
    monkeypatch.setattr(import_module("slmmodel.cli.report"), "make_page", lambda *_, **__: (page, ()))
    err = slm("report", run, "--prompt", r"The\n", code=0).err
    assert r"--prompt 'The\n' has a backslash and a letter" in " ".join(err.split())


def test_a_stop_string_ends_a_sample_before_it(slm: Any, run: Path) -> None:
    given = ["sample", run, "-p", "the", "--max-new", 30, "--seed", 2, "--json"]
    whole = slm(*given).json["result"]["samples"][0]["text"]
    ascii_ones = [character for character in whole if character.isascii()]
    for stop in (ascii_ones[0], ascii_ones[len(ascii_ones) // 2], ascii_ones[-1]):
        sample = slm(*given, "--stop", stop, "--stop", "☃").json["result"]["samples"][0]
        assert (sample["text"], sample["reason"]) == (whole[: whole.index(stop)], "stop")
    beam = slm("sample", run, "-p", "the", "--beam", 2, "--max-new", 8, "--json")
    text = beam.json["result"]["samples"][0]["text"]
    stop = next(character for character in text[1:] if character.isascii())
    cut = slm("sample", run, "-p", "the", "--beam", 2, "--max-new", 8, "--stop", stop, "--json")
    assert cut.json["result"]["samples"][0]["text"] == text[: text.index(stop)]


def test_without_a_tokenizer_there_are_ids(slm: Any, tokenizer: Path, tmp_path: Path) -> None:
    bare = make_run(tmp_path / "bare", tokenizer, with_tokenizer=False)
    ran = slm("sample", bare, "--ids", "1 40", "--max-new", 4, "--seed", 1)
    told = slm("sample", bare, "--ids", "1,40", "--max-new", 4, "--seed", 1, "--json").json["result"]["samples"][0]
    assert ran.out == "1 40 " + "".join(f"{id} " for id in told["ids"]) + "\n"
    assert told["text"] is None
    refused = slm("sample", bare, "--prompt", "x")
    assert (refused.code, refused.err.splitlines()[0]) == (
        1,
        "error: --prompt needs the tokenizer, and the run has none",
    )
    assert slm("sample", bare, "--prompt", "the", "-t", tokenizer, "--max-new", 2).code == 0
    assert slm("sample", bare, "--ids", "1", "--stop", "x").code == 1
    assert slm("logprobs", bare, "--ids", "1 40", "--top", 2).code == 0


def test_ids_need_no_tokenizer(tokenizer: Path, tmp_path: Path) -> None:
    """The tokenizer's modules are blocked: ids are sampled, text is refused. Slow imports of torch stay out as well."""
    run = make_run(tmp_path / "bare", tokenizer, with_tokenizer=False)
    code = """
import sys
from importlib import import_module
sys.modules["slmtok.tokenizer"] = sys.modules["slmtok._native"] = None
from slmmodel.cli import main
run = sys.argv[1]
assert main(["sample", run, "--ids", "1 40", "--max-new", "3"]) == 0
assert main(["logprobs", run, "--ids", "1 40", "--top", "2"]) == 0
assert main(["info", run]) == 0
assert main(["sample", run, "--prompt", "the"]) == 1
assert not any(name.startswith(("sympy", "torch._dynamo")) for name in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code, str(run)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 40 ")
    assert "--prompt needs the tokenizer" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "fact"),
    [
        (["--prompt", "a", "--ids", "1"], 2, "--prompt and --ids together"),
        (["--ids", "1 x"], 2, "--ids takes integers"),
        (["--ids", "9999"], 2, "--ids has the id 9999"),
        (["--ids", " ".join(["1"] * 41)], 1, "the prompt has 41 ids"),
        (["--greedy", "--beam", "2"], 2, "greedy and beam together"),
        (["--top-p", "2"], 2, "top_p is 2"),
        (["--greedy", "--temperature", "0.5"], 2, "temperature has no effect with greedy, which draws nothing"),
        (["--beam", "2", "--top-p", "0.9"], 2, "top_p has no effect with beam, which draws nothing"),
        (
            ["--beam", "2", "--n", "3", "--temperature", "0", "--top-k", "4"],
            2,
            "leave out --temperature and --top-k and give --beam 3, or leave out --beam",
        ),
        (["--contrastive", "0.3", "--top-k", "4"], 2, "top_k has no effect with contrastive, which draws nothing"),
        (["--device", "tpu"], 2, "device 'tpu' does not exist"),
        (["--beam", "2", "--dola", "low"], 2, "beam and dola together"),
        (["--beam-groups", "2"], 2, "beam_groups has no effect without beam"),
        (["--contrastive", "0.3", "--length-penalty", "2"], 2, "length_penalty has no effect without beam"),
        (["--length-penalty", "2"], 2, "fix:   leave out --length-penalty, or give --beam or --beam-sample\n"),
        (["--beam", "4", "--beam-groups", "3"], 2, "fix:   --beam 6\n"),
        (["--contrastive", "3"], 2, "fix:   --contrastive 0.3, for instance\n"),
        (["--lookahead", "2"], 2, "lookahead has no effect without assistant"),
        (["--dola", "9"], 2, "dola is '9', and the model has 2 layers"),
        (["--overflow", "wrap"], 2, "--overflow takes one of stop, slide"),
    ],
)
def test_what_is_refused(slm: Any, run: Path, options: list[str], code: int, fact: str) -> None:
    ran = slm("sample", run, *options)
    assert ran.code == code
    assert fact in ran.err


def test_text_that_waits_on_stdin_is_named(
    slm: Any, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prompts.txt").write_text("the fox ")
    reader, writer = os.pipe()
    os.write(writer, b"the fox ")
    for name in (tmp_path / "prompts.txt", reader):
        with open(name) as stdin:  # noqa: PTH123  (a descriptor)
            monkeypatch.setattr(sys, "stdin", stdin)
            ran = slm("sample", run, "--max-new", "2", code=0)
        assert f"note: stdin has text, which is not read: slm sample {run} - continues it\n" in ran.err
    os.close(writer)
    with Path(os.devnull).open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert "stdin" not in slm("sample", run, "--max-new", "2", code=0).err


def test_a_prompt_from_stdin_and_one_that_ends_in_a_space(slm: Any, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"the fox ")))
    ran = slm("sample", run, "-p", "-", "--max-new", 2)
    assert ran.out.startswith("the fox ")
    assert "note: the prompt ends in white space" in ran.err
    assert slm("sample", run, "-p", "the ", "--max-new", 2, "--json").json["warnings"]
    assert slm("sample", run, "-p", "the ", "--max-new", 2, "--quiet", "--threads", 1).err == ""


def test_next_lists_probabilities(slm: Any, run: Path) -> None:
    told = slm("logprobs", run, "-p", "once upon a", "--top", 5, "--json").json["result"]
    model = RunFolder.open(run).model()
    with torch.inference_mode():
        logits = model(torch.tensor([told["prompt_ids"]])).logits
    assert logits is not None
    p = torch.softmax(logits[0, -1].double(), 0)
    assert [row["id"] for row in told["next"]] == p.argsort(descending=True)[:5].tolist()
    for row in told["next"]:
        assert row["p"] == pytest.approx(float(p[row["id"]]), rel=1e-5)
    assert told["mass"] == pytest.approx(float(p.sort(descending=True).values[:5].sum()), rel=1e-5)
    assert told["entropy_nats"] == pytest.approx(float(-(p * p.log()).sum()), rel=1e-5)
    assert slm("logprobs", run, "once upon a", "--top", 5, "--json").json["result"] == told
    shown = slm("logprobs", run, "-p", "once upon a", "--top", 3).out.splitlines()
    assert len(shown) == 5 and shown[-1].startswith("3 of 290 ids have")
    assert len(slm("logprobs", run, "-p", "once", "--top", 0, "--json").json["result"]["next"]) == 290


def test_export_and_its_receipt(slm: Any, run: Path) -> None:
    pytest.importorskip("transformers", reason="needs transformers")
    slm("export", run, "--output-format", "hf", "-o", "hf", code=0)
    assert json.loads(Path("hf/receipt.json").read_text())["target"] == "Qwen3ForCausalLM"
    table = json.loads(Path("hf/config.json").read_text())
    assert (table["bos_token_id"], table["eos_token_id"], table["pad_token_id"], table["vocab_size"]) == (1, 2, 3, 290)
    from tokenizers import Tokenizer

    import slmtok

    ids = Tokenizer.from_file("hf/tokenizer.json").encode("the little fox", add_special_tokens=False).ids
    assert ids == slmtok.load(run / "tok.json").encode_list("the little fox")
    assert slm("export", run, "-o", "hf").code == 1
    assert slm("export", run, "-o", "hf", "--force", "--quiet").code == 0
    assert slm("export", run).err.startswith("error: --output is missing")
    assert slm("export", run, "--dry-run", "--json").json["result"]["target"] == "Qwen3ForCausalLM"


def test_a_spinner_says_that_torch_is_loaded(run: Path) -> None:
    """In every command that imports torch; a statement that imports it ends the command here."""
    (run.parent / "a.txt").write_text(TEXT)
    lines = ["sample run Once", "logprobs run", "chat run", "eval run --on a.txt", "export run -o x"]
    lines += [
        "batches a.txt -t run/tok.json",
        "doctor run",
        "info cpu-demo",
        "bench run",
        "train a.txt -t run/tok.json",
    ]
    code = f"""if True:
        import builtins
        from slmmodel.cli import main
        from slmtok.cli.progress import Progress

        def watched(name, *more, plain=builtins.__import__, **named):
            if name.partition(".")[0] == "torch":
                print(line, "shown" if Progress._active else "nothing")
                raise SystemExit
            return plain(name, *more, **named)

        builtins.__import__ = watched
        for line in {lines}:
            try:
                main(line.split())
            except SystemExit:
                pass
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=run.parent, capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"{line} shown" for line in lines], done.stderr


def test_export_that_differs_ends_with_1(slm: Any, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from slmmodel.export import hf

    def differs(*_: object) -> None:
        raise Mismatch("logits differ", where="hf")

    monkeypatch.setattr(hf, "checks", differs)
    assert slm("export", run, "-o", "hf").code == 1
    assert not Path("hf").exists()


def test_info(slm: Any, run: Path, tokenizer: Path) -> None:
    told = slm("info", run, "--json").json["result"]
    model = RunFolder.open(run).model()
    assert told["parameters"] == sum(p.numel() for p in model.parameters())
    assert told["exports"] == {"hf": "Qwen3ForCausalLM"} and told["vocab"]["n_vocab"] == 290
    assert f"parameters  {told['parameters']:,}" in slm("info", run).out
    chart = slm("info", run, "--diagram").out
    assert chart.startswith("flowchart TD\n") and "block, 2 times" in chart and "32" in chart
    assert slm("info", "cpu-demo", "--json").json["result"]["parameters"] == 1_000_832
    assert "-. " in slm("info", "lstm-4m", "--diagram").out
    assert slm("info", "presets").out.count("\n") == len(PRESETS)
    plan = slm("info", "infini-200m-exp53", "--on", "h100:4", "--json").json["result"]
    assert plan["parameters"] == sum(plan["parts"].values()) == 201_339_952
    assert plan["on"]["seconds"] == pytest.approx(plan["flops"] / (4 * 989e12 * 0.4))
    shown = slm("info", "base-1b8", "--on", "4090:4").out
    assert "by part" in shown and "bf16" in shown and "FSDP2 shards the state" in shown
    assert "more devices" in slm("info", "base-1b8", "--on", "4090").out
    assert "did you mean 'h100'" in slm("info", "cpu-demo", "--on", "h10").err
    err = slm("info", run, "--on", "h100", code=2).err
    assert (
        "--on plans a preset" in err
        and "is a run\n" in err
        and "slm info cpu-demo --on h100, the preset nearest" in err
    )
    assert slm("info", run / "vocab.json").code == 0
    assert "did you mean 'cpu-demo'" in slm("info", "cpu-dem").err


@pytest.mark.parametrize("text", ["héllo 🦊 x", "a\x00b", "🦊🦊", "plain"])
def test_streamed_pieces_are_the_whole(text: str) -> None:
    data = text.encode() + b"\xf0\x9f"
    for cuts in itertools.combinations(range(1, len(data)), 2):
        edges = [0, *cuts, len(data)]
        stream = TextDecoder(["☃☃☃"])
        pieces = [stream.push(data[a:b]) for a, b in itertools.pairwise(edges)]
        assert "".join(pieces) + stream.finish() == data.decode("utf-8", "replace")
        assert not stream.stopped


def test_streaming_holds_back_no_more_than_it_must() -> None:
    stream = TextDecoder()
    assert [stream.push(bytes([b])) for b in "a🦊b".encode()] == ["a", "", "", "", "🦊", "b"]
    stopping = TextDecoder(["end"])
    assert stopping.push(b"the e") == "the"
    assert stopping.push(b"nd of it") == " "
    assert stopping.stopped and stopping.push(b"more") == "" and stopping.finish() == ""


def test_errors_behind_the_options() -> None:
    from slmmodel.cli.open_by_path import RunContext
    from slmmodel.hardware import device_for

    with pytest.raises(OptionError, match="does not exist"):
        device_for("nowhere")
    assert device_for("auto").type in ("cpu", "cuda", "mps")
    with pytest.raises(MissingInput, match="--stop needs"):
        RunContext(RunFolder(Path("x")), None, None, None).need_text("--stop")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stdin", "fact"), [(None, "it is closed"), (b"\xff\xfe", "stdin is not UTF-8: byte 0 is 0xff")]
)
def test_stdin_that_is_closed_or_no_text(
    slm: Any, run: Path, monkeypatch: pytest.MonkeyPatch, stdin: bytes | None, fact: str
) -> None:
    monkeypatch.setattr("sys.stdin", stdin and io.TextIOWrapper(io.BytesIO(stdin)))
    assert fact in slm("sample", run, "-", code=1).err


def test_a_prompt_that_is_not_utf8(slm: Any, run: Path) -> None:
    for line in (
        ["sample", run, "caf\udce9"],
        ["sample", run, "-p", "caf\udce9"],
        ["logprobs", run, "-p", "caf\udce9"],
    ):
        assert "error: the prompt is not UTF-8: byte 3 is 0xe9\n" in slm(*line, code=2).err


NUMERIC = {
    name: field
    for name, field in SampleConfig.model_fields.items()
    if name in ("contrastive", "temperature") or type(field.default) in (int, float)
}
HOSTILE = ["nan", "inf", "-inf", "-1", "-1e300", "1e300", "1e-300", "10000000000000000000000", "x", ""]


@pytest.mark.parametrize("name", NUMERIC)
def test_values_out_of_range_are_one_error(slm: Any, run: Path, name: str) -> None:
    """Each value works, or is refused before the model is opened, in the command and in Python."""
    flag = {"max_new_tokens": "--max-new", "min_new_tokens": "--min-new"}.get(name, f"--{name.replace('_', '-')}")
    needed = {"beam_groups": ["--beam", 2], "diversity_penalty": ["--beam", 2], "length_penalty": ["--beam", 2]}
    more = {**needed, "contrastive_k": ["--contrastive", 0.5]}.get(name, [])
    length = [] if name == "max_new_tokens" else ["--max-new", 2]
    refused = 0
    for value in HOSTILE:
        ran = slm("sample", run, "-p", "the", *length, *more, f"{flag}={value}")
        assert ran.code in (0, 2), (value, ran)
        if ran.code == 2:
            refused += 1
            assert ran.err.startswith("error: ") and ran.err.count("error:") == 1, (value, ran.err)
            assert "fix:" in ran.err and "Traceback" not in ran.err, (value, ran.err)
    assert refused >= 5
    story = app.load(run, device="cpu").run
    for number in (math.nan, math.inf, -math.inf, -1e300):
        if name in DecodingOptions.model_fields and name != "lookahead":
            with pytest.raises((OptionError, TypeError)):
                story.generate([1], **{"max_new_tokens": 2, name: number})
