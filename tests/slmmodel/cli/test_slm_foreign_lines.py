"""Command lines and models of other tools: a run that continues, a sample of llama.cpp, a folder of Hugging Face."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

from printed_fixes import fix_in, fix_of
from slm_folder import make_folder

import slmmodel
import slmtok
from slmmodel import app
from slmmodel.checkpoint import RunFolder
from slmmodel.cli import train_habits
from slmmodel.errors import InvalidConfig, MissingInput


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a text, a tokenizer, packed data and a finished run of two steps."""
    folder = make_folder(tmp_path_factory.mktemp("made"), "--no-eval", "--set=run.save_every=1")
    (folder / "hf").mkdir()
    (folder / "hf" / "config.json").write_text("{}")
    return folder


AT_1 = "run/checkpoints/step-1"
CONTINUED = {
    f"train data -o new --budget steps=3 --resume_from_checkpoint {AT_1} --no-eval": (
        "slm resume run --step 1 -o new --budget steps=3 --no-eval"
    ),
    f"train data --resume-from={AT_1} --preset cpu-demo --seed 3 --micro-batch 1 --no-eval": (
        "slm resume run --step 1 --set run.micro_batch=1 --no-eval -o run-2"
    ),
    f"train data --output_dir new --max_steps 3 --learning_rate 1e-3 --resume_from_checkpoint {AT_1} --no-eval": (
        "slm resume run --step 1 -o new --budget steps=3 --set optim.lr=1e-3 --no-eval"
    ),
    "train data --resume run --no-eval": "slm resume run --no-eval -o run-2 --budget steps=4",
}


@pytest.mark.parametrize("line", CONTINUED)
def test_a_run_or_checkpoint_that_another_tool_continues(slm, here, line):
    """The fix is pasted as it is printed."""
    assert slm(*line.split(), code=2).err.endswith(f"  fix:   {CONTINUED[line]}\n")
    slm(*shlex.split(CONTINUED[line])[1:], code=0)


def test_nothing_that_another_tool_continues(slm, here):
    advice = "fix:   use slm resume RUN, or the same command again: it continues an interrupted run\n"
    assert advice in slm("train", "data", "-o", "new", "--resume", code=2).err
    assert advice in slm("train", "data", "-o", "new", "--resume", "none", code=2).err


def test_perplexity_is_measured_by_another_command(slm, here):
    for words in ("run once --ppl", "run --prompt once --perplexity"):
        fix = slm("logprobs", *words.split(), code=2).err.partition("  fix:   ")[2]
        assert fix == "printf %s once | slm eval run --on -\n"
    assert slm("logprobs", "run", "--ppl", code=2).err.endswith("  fix:   slm eval run\n")


def test_the_probability_of_a_token_is_a_line_of_the_list(slm, here):
    text = here / "run"
    ids = slmtok.load(text).encode("on")
    for words in ("run --prompt once --target on", "--prompt once --token=on --top 5"):
        fix = fix_of(slm("logprobs", *words.split(), code=2))
        line, _, chosen = fix.partition(" | ")
        assert line == "slm logprobs run --prompt once --top 0"
        assert chosen == f"awk '$1 == {ids[0]}'" + f" # the first of {len(ids)} tokens" * (len(ids) > 1)
    assert (
        fix_of(slm("logprobs", "run", "once", "--target", code=2))
        == "slm logprobs run once # lists the likeliest tokens"
    )


SAMPLES = {
    "sample -m run -p once -n 5": "slm sample run -p once --max-new 5",
    "sample -m run -p once -n 5 -s 3 --temp 0.5": "slm sample run -p once --max-new 5 --seed 3 --temperature 0.5",
    "sample -m run -p once": "use an argument for the run: slm sample run",
    "sample run -p once -n 5": "use --max-new 5: the number of new ids; --n 5 is that of samples",
    "chat -m run -n 5": "slm chat run --max-new 5",
    "chat run -n 5": "use --max-new 5",
    "sample run -n 3 --length 20": "slm sample run --n 3 --max-new 20",
    "logprobs -m run -p once -n 3": "slm logprobs run -p once --top 3",
    "sample run -f p.txt -n 3": 'slm sample run --prompt "$(cat p.txt)" --max-new 3',
    "passkey run -n 5": "use --samples 5",
}


@pytest.mark.parametrize("line", SAMPLES)
def test_short_options_of_llama_cpp(slm, here, line):
    fix = SAMPLES[line]
    assert slm(*line.split(), code=2).err.endswith(f"  fix:   {fix}\n")
    if fix.startswith("slm") and "chat" not in fix:
        slm(*shlex.split(fix.replace("$(cat p.txt)", "once"))[1:], code=0)


@pytest.mark.parametrize("command", ["eval hf --on text.txt", "sample hf once", "export hf -o x"])
def test_a_model_of_hugging_face_is_no_run(slm, here, command):
    err = slm(*command.split(), code=1).err
    assert "error: 'hf' is a model of Hugging Face, not a run folder\n" in err
    assert "  limit: slm reads only its own runs; runs in ./: run\n" in err
    reader = "transformers reads this folder: AutoModelForCausalLM.from_pretrained('hf')"
    assert f"  fix:   name one of them; {reader}\n" in err


@pytest.mark.parametrize("load", [app.load, slmmodel.load])
def test_a_model_of_hugging_face_in_python(slm, here, load, monkeypatch):
    (here / "alone").mkdir()
    shutil.copytree("hf", "alone/hf")
    monkeypatch.chdir(here / "alone")
    with pytest.raises(MissingInput) as caught:
        load("hf")
    reader = "transformers reads this folder: AutoModelForCausalLM.from_pretrained('hf')"
    assert caught.value.fix == f"name a run, which slm train and slmmodel.train write; {reader}"
    assert Path("hf").is_dir()


def test_no_fix_writes_over_a_file(slm, here):
    Path("run.yaml").write_text(slm("config", "--preset", "cpu-demo", code=0).out)
    Path("pairs.csv").write_text("good,bad\na,b\n")
    Path("pairs.jsonl").write_text("")
    Path("gpt.py").write_text("import math\n")
    fix = "  fix:   slm config --check run.yaml, or slm config --preset cpu-demo > run-2.yaml\n"
    assert slm("config", "--check", "--preset", "cpu-demo", code=2).err.endswith(fix)
    fix = " < pairs.csv > pairs-2.jsonl && slm pairs run pairs-2.jsonl --good good --bad bad\n"
    assert slm("pairs", "run", "pairs.csv", code=1).err.endswith(fix)
    assert "slm config > run-2.yaml" in slm("train", "data", "--config", "gpt.py", "-o", "x").err


def test_a_run_that_goes_on_is_no_output(slm, here):
    run = RunFolder.open("run")
    err = slm("train", "data", "-o", "run", "--resume-from-checkpoint", "run", code=2).err
    fix = err.rpartition("fix:   ")[2].strip()
    assert fix.startswith("slm resume run ") and " -o run-2" in fix
    assert run.finished


HEADS = {
    "train data --n_layer=1 --n_head=6 --n_embd=48 --block_size=8 --max_iters=1 -o new --no-eval": (
        "slm train data --set model.n_layers=1 --set model.n_heads=6 --set model.n_kv_heads=6 --set model.d_model=48"
        " --set model.seq_len=8 --budget steps=1 -o new --no-eval"
    ),
    "train data --n_head=2 -o new": "use --set model.n_heads=2 --set model.n_kv_heads=2",
    "train data --n_head=4 --n_kv_head=2 -o new": (
        "slm train data --set model.n_heads=4 --set model.n_kv_heads=2 -o new"
    ),
    "train data --num_attention_heads 4 --set model.n_kv_heads=2 -o new": "use --set model.n_heads=4",
    "train data --n-heads 4 -o new": "use --set model.n_heads=4",
}


@pytest.mark.parametrize("line", HEADS)
def test_heads_of_gpt_2_share_no_keys(slm, here, line):
    assert slm(*line.split(), code=2).err.endswith(f"  fix:   {HEADS[line]}\n")
    if HEADS[line].startswith("slm ") and "steps" in line:
        slm(*HEADS[line].split()[1:], code=0)


@pytest.mark.parametrize(
    ("option", "fix"), [("--eval_interval=1", "use --set run.eval_every=1"), ("--eval_only=True", "")]
)
def test_eval_of_another_trainer_is_not_the_flag(slm, here, option, fix):
    err = slm("train", "data", "-o", "new", option, code=2).err
    assert fix in err and "--eval " not in err and not err.endswith("--eval\n")


def test_the_command_line_of_nanogpt(slm, here):
    """Options without an equivalent are left out and named; all others are translated."""
    line = (
        "train data --device=cpu --compile=False --eval_iters=20 --log_interval=1 --block_size=8 --batch_size=2"
        " --n_layer=1 --n_head=2 --n_embd=16 --max_iters 1 --lr_decay_iters 1 --dropout=0.0 -o new"
    )
    err = slm(*line.split(), code=2).err
    assert "; slm train has nothing for --eval_iters, --lr_decay_iters\n" in err
    fix = err.rpartition("fix:   ")[2].strip()
    slm(*shlex.split(fix)[1:], "--no-eval", code=0)
    config = RunFolder.open("new").config
    assert (config["model"]["n_heads"], config["model"]["seq_len"], config["run"]["compile"]) == (2, 8, "off")
    # One option of another tool alone may be a slip of the pen.
    assert "nothing for" not in slm("train", "data", "--n_layer=4", "--foo", "3", "-o", "x", code=2).err


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("sample run Once --quantize int8", "leave it out: slm keeps the weights in fp32"),
        ("export run -o new --quantize q8_0", "leave it out: slm keeps the weights in fp32"),
        ("plot run --metric loss", "leave it out: the picture has every curve"),
        ("probe run --checkpoint step-4", "use --step 2"),
        ("eval run --checkpoint best", "use --step 2"),
        ("sample run ROMEO: --checkpoint best", "use --step 2"),
        (f"sample run ROMEO: --ckpt {AT_1}", "use --step 1"),
        ("export run --ckpt latest", "use --step 2"),
        ("eval run --step", "--step 2"),
        ("eval run --step best", "--step 2"),
        ("resume run --step", "slm resume run --step 2 -o run-2 --budget steps=4"),
        (f"resume run --checkpoint {AT_1}", "slm resume run --step 1 -o run-2"),
        (f"resume run --ckpt_path {AT_1}", "slm resume run --step 1 -o run-2"),
        ("resume run --ckpt_path last", "slm resume run --step 2 -o run-2 --budget steps=4"),
        ("eval --step best", "--step N, a step that RUN/checkpoints has"),
        ("train data -o new --report-to none", "leave it out: run.track is empty by default"),
        (
            "train data --wandb_project lm -o new",
            "leave it out: export WANDB_PROJECT=lm in the shell names the project",
        ),
        ("sample run Once --model other", "use an argument for the run: slm sample other"),
        ("train data --name first", "use -o first"),
        ("train data -o new --deterministic", "use --set run.deterministic=true"),
        ("ablate -t a.json --data corpus", "use --text corpus"),
        ("ablate --data data", "slm ablate data"),
        ("logprobs run Once --output x.json", "slm logprobs run Once --json > x.json"),
    ],
)
def test_options_of_other_programs_for_runs(slm, here, line, fix):
    assert f"  fix:   {fix}" in slm(*line.split(), code=2).err


def test_a_run_without_checkpoints_has_no_step(slm, here):
    for name in ("step-1", "step-2"):
        shutil.rmtree(here / "run" / "checkpoints" / name)
    assert "  fix:   slm eval run\n" in slm("eval", "run", "--step", "best", code=2).err


@pytest.mark.parametrize("is_installed", [True, False])
@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ("--wandb", "use --set run.track=wandb"),
        ("--report-to wandb", "use --set run.track=wandb"),
        ("--set run.track=wandb --wandb-run-name baby", "leave it out: -o new also names the run in wandb"),
    ],
)
def test_a_tracker_that_is_not_installed_is_named(slm, here, monkeypatch, words, fix, is_installed):
    monkeypatch.setattr(train_habits, "find_spec", lambda name: is_installed or None)
    more = "" if is_installed else "; wandb is not installed: pip install wandb"
    assert f"  fix:   {fix}{more}\n" in slm("train", "data", "-o", "new", *words.split(), code=2).err


@pytest.mark.parametrize("is_installed", [True, False])
def test_a_translated_line_names_a_tracker_that_is_not_installed(slm, here, monkeypatch, is_installed):
    monkeypatch.setattr(train_habits, "find_spec", lambda name: is_installed or None)
    said = [] if is_installed else ["wandb is not installed: pip install wandb"]
    line = "slm train data -o new --set run.track=wandb"
    words = "--wandb_log=True --wandb_run_name=baby --max_iters=2"
    remark = "".join(f"  # {each}" for each in said)
    assert fix_in(slm("train", "data", "-o", "new", *words.split(), code=2).err) == f"{line} --budget steps=2{remark}"
    (here / "train_baby.py").write_text("wandb_log = True\nwandb_project = 'baby'\nmax_iters = 2\n")
    remark = f"  # {'; '.join([*said, 'leaves out wandb_project'])}"
    err = slm("train", "data", "-o", "new", "--config", "train_baby.py", code=2).err
    assert fix_in(err) == f"{line} --set run.budget.steps=2{remark}"


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        ("--set optim.beta2=0.99", "--set optim.betas=0.9,0.99"),
        ("--set optim.beta2=0.99 --set optim.beta1=0.8", "--set optim.betas=0.8,0.99"),
        ("--set optim.adam_beta1=0.8 --set optim.learning_rate=1", "--set optim.betas=0.8,0.95 --set optim.lr=1"),
        ("--beta2 0.99", "use --set optim.betas=0.9,0.99"),
        ("--config beta.yaml", "write optim.betas: 0.9,0.98"),
    ],
)
def test_one_beta_becomes_both(slm, here, words, fix):
    (here / "beta.yaml").write_text("optim:\n  beta2: 0.98\n")
    assert f"  fix:   {fix}\n" in slm("train", "data", "-o", "new", *words.split(), code=2).err
    if "--set" in fix:
        slm("train", "data", "-o", "new", *fix.removeprefix("use ").split(), "--dry-run", code=0)


@pytest.mark.parametrize("given", [{"optim.beta2": 0.99}, {"optim.beta2": 0.99, "optim.adam_beta1": 0.9}])
def test_one_beta_in_python_becomes_both(slm, here, given):
    with pytest.raises(InvalidConfig, match=r"fix: +settings=\{'optim.betas': '0.9,0.99'\}"):
        slmmodel.train("data", settings=given, output="new")
