"""Fixes of `slm` that are command lines or options: each is pasted as it is printed, and does what was meant."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from printed_fixes import fix_of

pytest.importorskip("torch")

import numpy as np
import torch
from slm_folder import TEXT, TRAIN, make_folder

import slmmodel
import slmmodel.app
import slmmodel.data
import slmtok
from slmmodel.errors import Mismatch, OptionError, UnsupportedFormat, WrongType
from slmtok.cli import main as run_slmtok


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts, tokenizers, packed data, and two runs of two steps."""
    folder = make_folder(tmp_path_factory.mktemp("made"))
    shutil.copytree(folder / "run", folder / "other")
    (folder / "short.jsonl").write_text('{"good": "the fox", "bad": "fox the"}')
    (folder / "lines.txt").write_text("\n".join(f"{TEXT} {number}" for number in range(30)))
    slmtok.train(str(folder / "text.txt"), vocab_size=280).save(folder / "tok2.json")
    return folder


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("plot run/metrics.jsonl other/metrics.jsonl -o c.svg", "slm plot run other -o c.svg"),
        ("plot run/config.yaml run/metrics.jsonl other -o run/c.svg", "slm plot run other -o run/c.svg"),
        ("report run/metrics.jsonl other/config.yaml -o x.html", "slm report run other -o x.html"),
        ("resume run/checkpoints/step-2 --no-eval",
         "slm resume run --step 2 --no-eval -o run-2 --budget steps=4"),
        ("resume run/checkpoints/step-2/model.safetensors --budget steps=3 --no-eval --force",
         "slm resume run --step 2 --budget steps=3 --no-eval -o run-2"),
        ("resume run --learning_rate 1e-3 --no-eval",
         "slm resume run --set optim.lr=1e-3 --no-eval -o run-2 --budget steps=4"),
        ("resume run --learning-rate 1e-3 --max_iters 3 --no-eval",
         "slm resume run --set optim.lr=1e-3 --budget steps=3 --no-eval -o run-2"),
        ("resume run --step 2 --lr=1e-3 -o new --budget steps=3 --no-eval",
         "slm resume run --step 2 --set optim.lr=1e-3 -o new --budget steps=3 --no-eval"),
        ("resume run --step 1 -o new --no-eval", "slm resume run -o new --no-eval --step 2 --budget steps=4"),
        ("resume run --step 1 -o new --budget steps=2 --no-eval",
         "slm resume run -o new --no-eval --step 2 --budget steps=4"),
        ("resume run/checkpoints/step-2 --budget=tokens=16 --no-eval",
         "slm resume run --step 2 --no-eval --budget steps=4 -o run-2"),
        ("resume run --step=last -o other --force --no-eval",
         "slm resume run -o other --force --no-eval --step 2 --budget steps=4"),
        ("resume run --step 2 -o new --no-eval", "slm resume run --step 2 -o new --no-eval --budget steps=4"),
        ("resume run --step 2 -o new --set optim.lr=1e-3 --budget steps=2 --no-eval",
         "slm resume run --step 2 -o new --set optim.lr=1e-3 --no-eval --budget steps=4"),
        ("resume run --step 2 --max-seq-len 4 -o new --budget steps=1 --no-eval",
         "slm train --config run/config.yaml --set model.seq_len=4 -o new --budget steps=1 --no-eval, "
         "which begins with random weights: the model of a run does not change"),
        ("resume run --set model.seq_len=4 --set optim.lr=1e-3 --budget steps=1 --no-eval --force",
         "slm train --config run/config.yaml --set model.seq_len=4 --set optim.lr=1e-3 --budget steps=1 --no-eval "
         "-o run-2"),
        ("sample run/checkpoints/step-2/model.safetensors hi --max-new 1",
         "slm sample run --step 2 hi --max-new 1"),
        ("completion --shell zsh", "slm completion zsh"),
        ("pairs run short.jsonl", "--good good --bad bad"),
        ("export run new --output-format hf", "slm export run --output-format hf -o new"),
        ("probe run --tasks copying,spelling,adding,counting --steps 0 --samples 2",
         "--tasks copy,reverse,addition,brackets"),
        ("train data --val none --set run.patience=3 -o new --budget steps=2 --no-eval",
         "--set run.patience=0, or name validation data: --val DATA"),
        ("batches run/config.yaml --n 1", "slm batches run --n 1"),
    ],
)  # fmt: skip
def test_the_fix_of_a_line(slm, here, line, fix):
    words = [*shlex.split(line), *(TRAIN if line.startswith("train") else [])]
    shown = fix_of(slm(*words))
    assert shown == fix
    pasted = shown.partition(", or ")[0].partition(", which ")[0]
    if pasted.startswith("--tasks"):
        pasted = f"slm {line.partition(' --tasks')[0]} {pasted}"
    elif pasted.startswith("--"):
        pasted = f"slm {shlex.join(words)} {pasted}"
    ran = slm(*shlex.split(pasted)[1:])
    # The model of two steps is too short for the questions, whose tasks are known then.
    assert ran.code == 0 or "limit: seq_len 8" in ran.err, ran.err


def test_a_report_shows_no_losses(slm, here):
    slm("eval", "run", "--no-baselines", "--losses", "a.losses", code=0)
    fix = fix_of(slm("report", "run", "a.losses", "-o", "x.html"))
    assert fix == "slm report run -o x.html # a report does not show a.losses"
    slm(*shlex.split(fix, comments=True)[1:], code=0)


def test_a_text_as_the_data_of_a_check_keeps_its_option(slm, here):
    fix = fix_of(slm("config", "--check", "run/config.yaml", "--data", "text.txt"))
    line = fix.partition(" tokenizes it")[0]
    assert line == "slm config --check run/config.yaml --data text.txt -t tok.json"
    slm(*shlex.split(line)[1:], code=0)


def test_an_unfinished_run_goes_on_at_its_last_step(slm, here):
    for name in ("result.json", "model.safetensors"):
        (here / "run" / name).unlink()
    assert fix_of(slm("resume", "run/checkpoints/step-2")) == "slm resume run --step 2"
    slm("resume", "run", "--step", "2", "--no-eval", code=0)
    assert (here / "run/result.json").is_file()


def test_the_proposed_checkpoint_leaves_steps_to_train(slm, here):
    saved = ["--set", "run.save_every=1", "--set", "run.keep=9", "--budget", "steps=4", "--no-eval"]
    slm("train", "data", "-o", "long", *TRAIN, *saved, code=0)
    line = fix_of(slm("resume", "long", "--step", "9", "-o", "new", "--budget", "tokens=48", "--no-eval"))
    assert line == "slm resume long -o new --budget tokens=48 --no-eval --step 2"
    slm(*line.split()[1:], code=0)


def test_early_stopping_that_cannot_stop_is_noted(slm, here):
    slmtok.pack("lines.txt", slmtok.load("tok.json"), "lines", document="line", val="hash:20%")
    line = ["train", "lines", "-o", "new", *TRAIN, "--budget", "steps=4", "--no-eval", "--force"]
    assert "note: run.patience 3 cannot stop this run: it has 3 " in slm(*line, "--set", "run.patience=3", code=0).err
    assert "cannot stop" not in slm(*line, "--set", "run.patience=2", code=0).err
    assert "cannot stop" not in slm(*line, code=0).err


@pytest.mark.parametrize(
    ("idle", "acting"),
    [
        (["optim.momentum=0.8", "optim.name=adamw"], ["optim.name=muon"]),
        (["optim.gate_lr=0.1"], ["model.arch=infini", "model.segment=1"]),
        (["optim.schedule.decay=0.3", "optim.schedule.kind=cosine"], ["optim.schedule.kind=wsd"]),
        (["run.eval_every=2", "data.val=none"], None),
    ],
)
def test_a_setting_that_cannot_act_is_noted(slm, here, idle, acting):
    slmtok.pack("lines.txt", slmtok.load("tok.json"), "lines", document="line", val="hash:20%")
    line = ["train", "lines", "-o", "new", *TRAIN, "--preset", "cpu-demo", "--budget", "steps=4", "--dry-run"]
    err = slm(*line, *(word for each in idle for word in ("--set", each)), code=0).err
    assert f"note: {idle[0].partition('=')[0]} has no effect: it acts only with " in err
    more = [word for each in (idle[0], *(acting or ())) for word in ("--set", each)]
    assert "no effect" not in slm(*line, *more, code=0).err


def test_a_file_of_settings_is_checked_or_completed(slm, here):
    Path("my.yaml").write_text(
        "model: {preset: cpu-demo, n_layers: 1, d_model: 16, n_heads: 2, n_kv_heads: 2, d_ff: 32, seq_len: 8}\n"
        "run: {batch_tokens: 16, device: cpu, budget: {steps: 2}}\n"
    )
    check, _, completed = fix_of(slm("config", "my.yaml")).partition(" checks my.yaml; ")
    assert check == "slm config --check my.yaml --data data"
    assert "steps           2 of 2 sequences" in slm(*shlex.split(check)[1:], code=0).out
    line, _, rest = completed.partition(" > NEW.yaml ")
    assert rest == "writes every setting, with those of my.yaml"
    written = slm(*shlex.split(line)[1:], code=0).out
    Path("full.yaml").write_text(written)
    assert "n_layers: 1 " in written and "patience: 0" in written
    same = slm("config", "--check", "full.yaml", "--data", "data", "--json", code=0).json["result"]
    assert (same["steps"], same["seq_len"]) == (2, 8)
    preset = fix_of(slm("config", "my.yaml", "--preset", "tiny-3m", "--data", "data"))
    assert preset.startswith("slm config --check my.yaml --data data checks my.yaml with them; slm config ")
    assert preset.count("--preset") == 1 and "--preset tiny-3m" in preset


@pytest.fixture
def short_probe(monkeypatch):
    """A budget of time is planned by a probe of five seconds."""
    monkeypatch.setattr("slmmodel.trainer.PROBE_SECONDS", 0.05)


@pytest.mark.usefixtures("short_probe")
def test_a_planned_time_that_is_asked_for_again_is_trained_longer_by_steps(slm, here):
    line = ["train", "data", "-o", "timed", *TRAIN, "--budget", "time=0.2s", "--no-eval"]
    slm(*line, code=0)
    steps = json.loads((here / "timed/result.json").read_text())["steps"]
    result = here / "timed/result.json"
    result.write_text(json.dumps({**json.loads(result.read_text()), "seconds": 0.1}))
    fix = slm(*line, "--allow-mismatch", "files", code=1).err.rpartition("to train it longer ")[2].strip()
    assert fix == f"slm resume timed --step {steps} -o timed-2 --budget steps={2 * steps}"


@pytest.mark.parametrize(
    ("data", "sets", "differs"),
    [
        (
            "data",
            {"optim.lr": "0.001", "model.n_layers": "2"},
            "model.n_layers 2, in the run 1; optim.lr 0.001, in",
        ),
        ("data", {"run.seed": "7", "run.log_every": "1"}, "run.seed 7, in the run 0\n"),
        ("tok2-data", {}, "the tokenizer of the data differs; the training data differ"),
    ],
)
def test_a_finished_run_of_other_settings_is_not_trained_longer(slm, here, data, sets, differs):
    slmtok.pack("text.txt", slmtok.load("tok2.json"), "tok2-data")
    options = [word for name, value in sets.items() for word in ("--set", f"{name}={value}")]
    line = ["train", data, "-o", "run", *TRAIN, *options, "--budget", "steps=1", "--no-eval"]
    ran = slm(*line, code=1)
    assert f"limit: what differs: {differs}" in ran.err
    fix = fix_of(ran).removesuffix(", which replaces it").split(", or ")
    assert fix == ["--output run-2", "--force"]
    for words in (["-o", "run-2"], ["-o", "run", "--force"]):
        slm(*[word for word in line if word not in ("-o", "run")], *words, code=0)


@pytest.mark.parametrize("betas", ["0.9", "", "0.9,0.95,0.99"])
def test_a_list_of_fixed_length_states_its_length(slm, here, betas):
    err = slm("train", "data", "-o", "new", "--set", f"optim.betas={betas}", "--dry-run", code=2).err
    assert "  limit: 2 values\n  fix:   --set optim.betas=0.9,0.95\n" in err


@pytest.mark.parametrize(
    ("named", "fix"),
    [
        ("lines.txt", "slmtok count lines.txt -o lines.counts counts its documents, bytes and pretokens"),
        ("run/config.yaml", "slm doctor run"),
        ("run/checkpoints/step-2/model.safetensors", "slm doctor run"),
        ("run/checkpoints/step-2", "slm doctor run"),
        ("run/checkpoints", "slm doctor run"),
        ("data/manifest.json", "slm doctor data"),
        (".", "slm doctor other run data"),
    ],
)
def test_what_doctor_does_not_check_is_no_answer_of_it(slm, here, named, fix):
    assert fix_of(ran := slm("doctor", named, code=2)) == fix and "python" not in ran.err
    program, *line = shlex.split(fix.partition(" counts ")[0])
    assert slm(*line, "-q").code == 0 if program == "slm" else run_slmtok(line) == 0


def test_doctor_says_what_a_model_of_hugging_face_is(slm, here):
    Path("hf").mkdir()
    Path("hf/config.json").write_text("{}")
    refused = slm("doctor", "hf", code=2).err
    assert refused == slm("info", "hf").err and "'hf' is a model of Hugging Face, not a run folder" in refused
    assert fix_of(slm("doctor", "run", "hf", code=2)) == "slm doctor run"


def test_a_file_of_losses_is_named(slm, here):
    slm("eval", "run", "--losses", "a.losses", "--no-baselines", code=0)
    wrong = {
        "eval run --check a.losses": "a.losses is a file of losses of slm eval, not a certificate",
        "passkey run --check a.losses": "not a result of slm passkey",
        "train a.losses -t tok.json -o new": "is a file of tensors (safetensors), not text",
        "info a.losses": "a file of losses of slm eval, not a run, a preset or a vocab.json",
    }
    for line, fact in wrong.items():
        err = slm(*line.split()).err
        assert fact in err and "nests" not in err
    Path("zeros.json").write_bytes(b"\0[[[[[[[[[[[[[[" + b"\xff")
    assert "byte 15 is not UTF-8" in slm("eval", "run", "--check", "zeros.json", code=1).err


def test_a_certificate_of_another_run_names_its_run(slm, here):
    slm("resume", "run", "--step", "2", "-o", "longer", "--budget", "steps=3", code=0)
    slm("eval", "run", "--no-baselines", code=0)
    ran = slm("eval", "run", "--check", "longer/eval/val.json", code=3)
    assert "longer/eval/val.json: not proven, it is about other weights\n" in ran.out
    fix = next(line for line in ran.out.splitlines() if "its run" in line).partition("slm ")[2]
    assert "longer/eval/val.json: proven" in slm(*fix.split(), code=0).out
    assert "its run" not in slm("eval", "run", "--check", "run/eval/val.json", code=0).out


def test_a_certificate_is_checked_by_its_own_command(slm, here):
    slm("eval", "run", "--no-baselines", code=0)
    for command in ("probe", "passkey", "prompts"):
        ran = slm(command, "run", "--check", "run/eval/val.json", code=2)
        assert "run/eval/val.json is a certificate of slm eval, not a " in ran.err
        assert fix_of(ran) == "slm eval run --check run/eval/val.json"
    slm(*fix_of(ran).split()[1:], code=0)


def test_pairs_in_an_array_become_lines(slm, here):
    pair = {"sentence_good": "the fox is", "sentence_bad": "the fox are"}
    for indent in (1, None):
        Path("pairs.json").write_text(json.dumps([pair, pair], indent=indent))
        ran = slm("pairs", "run", "pairs.json", code=1)
        assert "a line begins an array of JSON" in ran.err
        command = fix_of(ran).replace("python -c", f"{shlex.quote(sys.executable)} -c")
        subprocess.run(["bash", "-c", command], check=True)
        assert slm("pairs", "run", "pairs.jsonl", "--json", code=0).json["result"]["groups"]["all"]["pairs"] == 2


@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("fields", [["sentence_good", "sentence_bad"], ["chosen", "rejected"]])
def test_pairs_in_a_table_become_lines(slm, here, delimiter, fields):
    rows = [fields, ["the fox is", "the fox are"], ["the fox is", "the fox are"]]
    Path("pairs.csv").write_text("\ufeff" * (delimiter == ",") + "\n".join(map(delimiter.join, rows)))
    ran = slm("pairs", "run", "pairs.csv", "--json", code=1)
    assert f"the first line is not JSON, but the header of a table: {', '.join(fields)}\n" in ran.err
    command, _, scored = fix_of(ran).replace("python -c", f"{shlex.quote(sys.executable)} -c").partition(" && slm ")
    subprocess.run(["bash", "-c", command], check=True)
    assert slm(*shlex.split(scored), code=0).json["result"]["groups"]["all"]["pairs"] == 2


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["own prompt.txt"], """slm sample run --prompt "$(cat 'own prompt.txt')\""""),
        (["--prompt", "the fox:", "--max-tokens", "2"], "slm sample run --max-new 2 --prompt 'the fox:'"),
        (["-p", "ROMEO:", "--max-length=2", "-o", "x.json"], "slm sample run --max-new=2 --prompt ROMEO:"),
        (["--prompts", "several.txt", "--seed", "1"],
         'while IFS= read -r line; do slm sample run --seed 1 --prompt "$line"; done < several.txt'),
    ],
)  # fmt: skip
def test_own_prompts_are_of_sample(slm, here, words, fix):
    Path("own prompt.txt").write_text("the fox\n")
    Path("several.txt").write_text("the fox\nthe tree\n")
    assert fix_of(slm("prompts", "run", *words)) == fix
    calls = f"slm() {{ printf '%s\\0' \"$@\"; }}; {fix}"
    shown = subprocess.run(["bash", "-c", calls], capture_output=True, text=True, check=True).stdout
    for line in shown.split("sample\0")[1:]:
        short = [] if "--max-new" in line else ["--max-new", "1"]
        assert "note: " not in slm("sample", *line.split("\0")[:-1], *short, code=0).err


def test_prompts_in_a_file_that_is_lost_are_no_text(slm, here):
    assert fix_of(slm("prompts", "run", "--prompts", "lost.txt")) == 'slm sample run --prompt "$(cat lost.txt)"'


def test_a_tokenizer_is_compared_with_a_run(slm, here):
    assert "another than that of run" in slm("doctor", "run", "tok2.json", "-q", code=3).out
    assert "tok.json  tokenizer, 290 ids" in slm("doctor", "run", "tok.json", "-q", code=0).out


def test_devices_are_planned_for_a_preset(slm, here):
    fixes = {
        "run --on h100:4": "slm info cpu-demo --on h100:4, the preset nearest to the run",
        "presets --on h100": "slm info cpu-demo --on h100, for instance",
        "cpu_demo --on h100": "slm info cpu-demo --on h100, or a run folder or vocab.json that exists",
        "run --on data": "slm eval run --on data scores the run on data",
    }
    for line, fix in fixes.items():
        assert fix_of(slm("info", *line.split())) == fix
        slm(*fix.partition(",")[0].removesuffix(" scores the run on data").split()[1:], code=0)


def test_validation_of_another_tokenizer_is_packed_again(slm, here):
    slmtok.pack("lines.txt", slmtok.load("tok2.json"), "lines", separator="\n", val="hash:20%")
    line = ["train", "text.txt", "-t", "tok.json", "-o", "new", *TRAIN, "--budget", "steps=1", "--no-eval"]
    fix = fix_of(slm(*line, "--val", "lines", code=1))
    packed, _, text = fix.rpartition(": ")[2].partition("; or ")
    assert packed == "slmtok pack lines.txt -t tok.json --separator $'\\n' --val hash:20% -o NEW"
    assert text == "--val TEXT, which is read as the training text is"
    slm(*line, "--val", "lines.txt", "--dry-run", code=0)
    slmtok.pack("lines.txt", slmtok.load("tok.json"), "NEW", separator="\n", val="hash:20%")
    slm(*line, "--val", "NEW", code=0)
    with pytest.raises(
        Mismatch, match=r"settings=\{'data.val': 'NEW'\}: slmtok pack lines.txt -t data/tok.json .* -o NEW$"
    ):
        slmmodel.train("data", settings={"data.val": "lines"}, output="new2")


def test_arms_of_two_corpora_are_no_ablation(slm, here):
    for name, tok in (("lines", "tok.json"), ("lines2", "tok2.json")):
        slmtok.pack("lines.txt", slmtok.load(tok), name, separator="\n", val="hash:20%")
    slmtok.pack("text.txt", slmtok.load("tok.json"), "texts", separator="tall", val="hash:50%")
    line = ["--cpu", "--budget", "steps=1", "--seeds", "1", "-o", "new"]
    fix = fix_of(slm("ablate", "lines", "texts", *line))
    assert fix.startswith(
        "both have one tokenizer; to compare corpora: slm train lines -o A && slm train texts -o B &&"
    )
    fix = fix_of(slm("ablate", "lines2", "texts", *line))
    assert "slmtok pack TEXT -t A -t B --separator $'\\n' --val hash:20% -o 'NEW/{name}'" in fix


def test_options_that_draw_are_left_out_at_once(slm, here):
    line = ["sample", "run", "the", "--max-new", "2"]
    fix = fix_of(slm(*line, "--greedy", "--temperature", "0.7", "--n", "3"))
    assert fix == "leave out --temperature and --n, or leave out --greedy"
    assert fix_of(slm(*line, "--contrastive", "0.5", "--n", "3")) == "leave out --n or --contrastive"
    slm(*line, "--greedy", code=0)
    slm(*line, "--temperature", "0.7", "--n", "3", code=0)
    slm(*line, "--beam", "2", "--n", "2", code=0)
    # As in transformers, no more samples than beams.
    assert fix_of(slm(*line, "--beam", "2", "--n", "5", "--beam-groups", "2")) == "--beam 6, or --n 2"
    assert fix_of(slm(*line, "--beam-sample", "2", "--n", "5")) == "--beam-sample 5, or --n 2"
    slm(*line, "--beam", "6", "--n", "5", "--beam-groups", "2", code=0)


@pytest.mark.parametrize(
    ("words", "fix"),
    {
        "--do-sample --num-beams 4 --num-return-sequences 2": "--beam-sample 4 --n 2",
        "--do_sample True --num_beams=4": "--beam-sample 4",
        "--do_sample False --num_beams=4": "--beam 4",
        "--do_sample --max_length 2 --temperature 0.7": "--max-new 2 --temperature 0.7",
        "--num_return_sequences 3 --max_length 2 --pad_token_id 0": "--n 3 --max-new 2",
    }.items(),
)
def test_beams_that_draw_are_beam_sampling(slm, here, words, fix):
    assert fix_of(slm("sample", "run", "the", *words.split(), code=2)) == f"slm sample run the {fix}"
    slm("sample", "run", "the", *fix.split(), *[] if "--max-new" in fix else ["--max-new", "2"], code=0)


def test_samples_of_the_likeliest_ids_are_noted(slm, here):
    line = ["sample", "run", "the", "--n", "2", "--max-new", "4"]
    for sure in (["--temperature", "0"], ["--top-k", "1"], ["--temperature", "0", "--top-k", "1"]):
        note = f"the 2 samples are equal: {' '.join(sure[:2])} always takes the likeliest id; without "
        assert note in (err := slm(*line, *sure, code=0).err)
        assert all(option in err.rpartition("without ")[2] for option in sure[::2])
    assert "are equal" not in slm(*line, code=0).err
    assert "are equal" not in slm(*line[:3], *sure, code=0).err


def test_one_choice_is_noted(slm, here):
    line = ["sample", "run", "the"]
    err = slm(*line, "--choice", "fox,tree", code=0).err
    assert "note: --choice 'fox,tree' is the only text that a sample may have; for one of several: " in err
    fix = err.rpartition("several: ")[2].split()
    assert "only text" not in slm(*line, *fix, code=0).err


def test_a_removed_checkpoint_names_what_removed_it(slm, here):
    err = slm("eval", "run", "--step", "1", code=1).err
    assert "limit: steps: 2; run.keep 2 removes older ones\n" in err
    assert "removes" not in slm("eval", "run", "--step", "9", code=1).err


def test_calls(here):
    with pytest.raises(WrongType) as choices:
        slmmodel.app.load("run").generate("the", choices="fox")
    assert choices.value.fix == "choices=['fox']"
    assert slmmodel.app.load("run").generate("the", choices=["fox"]) == "fox"
    with pytest.raises(OptionError) as rank:
        slmmodel.data.ShardLoader("data", seq_len=8, batch_size=4, rank=1, world_size=1)
    assert str(rank.value.fix).startswith("rank=0, the last one, or world_size=2")
    loader = slmmodel.data.ShardLoader("data", seq_len=8, batch_size=4, rank=0, world_size=1)
    assert next(iter(loader))["input_ids"].shape[0] == 4
    np.save("ids.npy", np.arange(20, 200, dtype="u2"))
    with pytest.raises(UnsupportedFormat) as ids:
        slmmodel.data.open_source("ids.npy")
    assert ids.value.fix == "slmtok vocab TOK --metadata -o vocab.json"
    shutil.copy("run/vocab.json", "vocab.json")
    slmmodel.data.open_source("ids.npy")


@pytest.mark.parametrize(
    ("line", "flag", "given", "listed"),
    [
        ("passkey run", "--depths", "0-100", "0,50,100"),
        ("passkey run", "--depths", "0-1", "0,1"),
        ("bench run --seconds 0.01", "--batch-sizes", "1-4", "1,2,4"),
        ("bench run --seconds 0.01", "--batch-sizes", "1 3", "1,3"),
        ("ablate --text text.txt --cpu -o new", "--vocabs", "280-1000", "280,560,1000"),
        ("ablate --text text.txt --cpu -o new", "--data-sizes", "10%-50%", "10%,20%,40%,50%"),
    ],
)
def test_numbers_in_another_notation_become_their_list(slm, here, line, flag, given, listed):
    words = shlex.split(line)
    assert fix_of(slm(*words, flag, given)) == f"{flag} {listed}"
    # The shape of the model and of the task, and the size of the text, bound the numbers further.
    assert f"{flag} takes" not in (err := slm(*words, flag, listed).err) and "is not one of" not in err


def test_runs_of_other_data_are_compared_on_one_text(slm, here):
    assert "--on" not in fix_of(slm("compare", "run", "other"))
    made = {"same": ("lines.txt", "tok2.json"), "first": ("lines.txt", "tok.json"), "last": ("more.txt", "tok.json")}
    Path("more.txt").write_text("\n".join(f"{number} {TEXT}" for number in range(30)))
    once = [*TRAIN, "--budget", "steps=1", "--no-eval"]
    for name, (text, tokenizer) in made.items():
        slmtok.pack(text, slmtok.load(tokenizer), f"{name}-data", document="line", val="hash:20%")
        slm("train", f"{name}-data", "-o", name, *once, code=0)
    slm("train", "text.txt", "-t", "tok2.json", "-o", "third", *once, code=0)
    on = {"same": [], "last": ["--on", "first-data"], "third": ["--on", "TEXT"]}
    for name, option in on.items():
        line, _, more = fix_of(slm("compare", "first", name)).partition("; ")
        assert more == "TEXT stands for a text that neither was trained on" * (name == "third")
        assert line.count("--on") == len(option) and all(line.count(each) == 2 for each in option)
        for command in line.replace("TEXT", "lines.txt").split(" && "):
            slm(*command.split()[1:], *(["--force", "--no-baselines"] if " eval " in command else []), code=0)


def test_a_preset_as_the_file_of_a_configuration(slm, here):
    fix = fix_of(slm("config", "cpu-demo", "--budget", "steps=3"))
    assert fix == "slm config --preset cpu-demo --budget steps=3 > run.yaml"
    assert "preset: cpu-demo" in slm(*shlex.split(fix.partition(" >")[0])[1:], code=0).out


def test_one_arm_is_no_ablation(slm, here):
    ran = slm("ablate", "--text", "text.txt", "--vocabs", "280", "--cpu", "-o", "new")
    assert "--vocabs 280 is one arm, and an ablation compares two or more\n" in ran.err
    assert fix_of(ran) == "--vocabs 280,560" and not Path("new").exists()


def test_rows_and_modules(here):
    run = slmmodel.load("run")
    ids = [[1, 30], [1, 31]]
    with pytest.raises(WrongType) as rows:
        run.score(ids)
    opening, _, scores = str(rows.value.fix).partition("; ")
    exec(opening, names := {"slmmodel": slmmodel})
    assert len(eval(scores, names)) == 2
    assert not run.model.training
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for name, fix in {
        "eval": "leave it out: a loaded run is in evaluation mode",
        "train": "leave it out: a loaded run is in evaluation mode; slm resume run in a shell trains it further",
        "to": f"import slmmodel; slmmodel.load('run', device={device!r}), or another device",
        "cpu": "import slmmodel; slmmodel.load('run', device='cpu')",
        "parameters": "write .model.parameters in place of .parameters",
    }.items():
        with pytest.raises(AttributeError) as module:
            getattr(run, name)
        assert str(module.value).endswith(f"  limit: a Run is not a module; its module is .model\n  fix:   {fix}")
    with pytest.raises(AttributeError, match=r"evaluation mode; \.evaluate\(\) of it measures bits per byte$"):
        slmmodel.app.load("run").eval()
    with pytest.raises(AttributeError, match=r"has no attribute 'evaluat'$"):
        run.evaluat  # noqa: B018
    of_text = slmmodel.app.load("run")
    for each, load in ((run, slmmodel.load), (of_text, slmmodel.app.load)):
        with pytest.raises(AttributeError) as moved:
            each.cpu()
        opening, _, call = str(moved.value).partition("fix:   ")[2].partition("; ")
        exec(opening, names := {})
        loaded = eval(call, names)
        assert type(loaded) is type(load("run"))
    with pytest.raises(WrongType, match=r"  fix:   run\.generate\(prompt\), or run\.score\(text\)$"):
        of_text("the fox")
    with pytest.raises(AttributeError, match=r"  fix:   write \.run\.seq_len in place of \.seq_len$"):
        of_text.seq_len  # noqa: B018


@pytest.mark.usefixtures("short_probe")
def test_a_time_without_a_unit_is_a_warning_in_python(here):
    settings = {each.partition("=")[0]: int(each.partition("=")[2]) for each in (
        "model.d_model=16", "model.n_heads=2", "model.n_kv_heads=2", "model.d_ff=32", "model.n_layers=1",
        "model.seq_len=8", "run.batch_tokens=16")}  # fmt: skip
    with pytest.warns(UserWarning, match=r"the budget time=1 is 1 second of training; 1min is minutes"):
        slmmodel.train("data", preset="cpu-demo", budget="time=1", output="new", settings=settings)


def test_names_of_another_trainer_need_one_fix(slm, here):
    given = {"n_layer": 2, "n_head": 2, "n_embd": 64, "block_size": 16, "learning_rate": 0.01,
             "dropout": 0.1, "seed": 1, "log_interval": 5, "max_iters": 1, "save_interval": 5}  # fmt: skip
    Path("nano.yaml").write_text("".join(f"{name}: {value}\n" for name, value in given.items()))
    line = ["train", "data", "--preset", "cpu-demo", "--budget", "steps=1", "-o", "new", "--dry-run"]
    fix = fix_of(slm(*line, "--config", "nano.yaml", code=2))
    # The budget of the command line is kept.
    assert fix.count("--set ") == len(given) and "--set model.n_kv_heads=2" in fix
    slm(*fix.split()[1:], code=0)
