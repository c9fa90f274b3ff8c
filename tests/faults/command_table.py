"""One small invocation or more of every command of both programs, which the tests of faults and situations run.

Commands run in a folder that holds what `INPUTS` made, and write below its folder `out`.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

WORDS = ["cat", "rat", "hat", "mat", "bat", "dog", "log", "fog", "hog", "bog"]
TEXT = "".join(f"the {first} sat on the {second}\n" for first in WORDS for second in WORDS[:6]) + "\nthey sat\n"


def _losses(n_bytes: int) -> str:
    """A file of losses, of one target of `n_bytes` bytes: safetensors whose bytes are all ASCII."""
    about = json.dumps({"format": "slm-losses", "version": 1})
    places = {"nats": ("F32", 1, 0, 4), "nbytes": ("U32", 1, 4, 8), "offsets": ("U64", 2, 8, 24)}
    tensors = {name: {"dtype": kind, "shape": [n], "data_offsets": [i, j]} for name, (kind, n, i, j) in places.items()}
    header = json.dumps({"__metadata__": {"about": about}, **tensors}).ljust(368)
    return (struct.pack("<Q", len(header)) + header.encode() + struct.pack("<fIQQ", 0.5, n_bytes, 0, 1)).decode("ascii")


FILES = {
    "text.losses": _losses(72),
    "c.txt": TEXT,
    "café.txt": "the café, où Zoë sat\n" * 3,
    "ids.txt": "273 17\n18\n",
    "unused.json": "[290, 291]",
    "chat.txt": "the cat\n/quit\n",
    "pairs.jsonl": '{"sentence_good": "the cat sat", "sentence_bad": "sat the cat"}\n',
}


NOTE = "note: "
"""With `--quiet` there is none."""


@dataclass(frozen=True)
class Command:
    """A command line. before: commands that prepare the folder. copy: an input that it changes, and its copy below
    `out`. stdin: the input that it reads there. writes: it writes files, not only to stdout. notes: words on stderr of
    one that names there what its output lacks because an input cannot be read."""

    argv: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    copy: tuple[str, str] | None = None
    stdin: str | None = None
    writes: bool = True
    notes: str = ""

    @property
    def status(self) -> int:
        """With which it ends where it names what is lacking: a note is no failure."""
        return int(self.notes != NOTE)


def _split(lines: str) -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in lines.strip().splitlines()]


_SHAPE = ["d_model=16", "n_layers=1", "n_heads=2", "n_kv_heads=1", "d_ff=16", "seq_len=256"]
_RUN = ["batch_tokens=512", "save_every=1", "keep=1", "eval_every=2", "threads=1"]
_SETS = " ".join([*(f"--set model.{one}" for one in _SHAPE), *(f"--set run.{one}" for one in _RUN)])
_TRAIN = f"slm train d -o out/run --preset cpu-demo --budget steps=3 {_SETS}"
_DEMO = "slm demo c.txt -o out/demo --document line --vocab 280 --preset cpu-demo --budget steps=2 --threads 1"
_PACK = "slmtok pack c.txt -t tok.json -o out/d --document line --threads 1"

INPUTS = _split(f"""
slmtok train c.txt --vocab 292 -o tok.json
slmtok slice tok.json --vocab 280 -o small.json
slmtok count c.txt -o a.counts
slmtok pack c.txt -t tok.json -o d --document line --val hash:30%
slmtok export tok.json --output-format hf --no-verify -o hf
{_TRAIN.replace("out/run", "run")}
slm eval run --no-baselines --losses run.losses
""")
"""The commands that make the inputs."""


def _command(line: str, **more: object) -> Command:
    quiet = () if "completion" in line or more.get("notes") == NOTE else ("--quiet",)
    before = tuple((*argv, "--quiet") for argv in _split(str(more.pop("before", ""))))
    return Command((*line.split(), *quiet), before, **more)  # type: ignore[arg-type]


_RUN_COPY = {"copy": ("run", "out/run")}
_READS = {"writes": False}

COMMANDS: dict[str, Command] = {
    "train": _command("slmtok train c.txt --vocab 288 --save-counts out/c.counts -o out/tok.json"),
    "count": _command("slmtok count c.txt --doc-digests -o out/c.counts"),
    "merge": _command("slmtok merge a.counts -o out/m.counts"),
    "slice": _command("slmtok slice tok.json --vocab 276 -o out/s.json"),
    "slice --force": _command(
        "slmtok slice tok.json --vocab 276 -o out/s.json --force",
        before="slmtok slice tok.json --vocab 278 -o out/s.json",
    ),
    "extend": _command("slmtok extend small.json c.txt --vocab 290 -o out/e.json"),
    "prune": _command("slmtok prune tok.json --ids unused.json -o out/p.json"),
    "set-special": _command("slmtok set-special tok.json user=<|user|> -o out/u.json"),
    "reproduce": _command("slmtok reproduce tok.lock", **_READS),
    "encode": _command("slmtok encode c.txt -t tok.json --output-format npy -o out/i.npy"),
    "decode": _command("slmtok decode ids.txt -t tok.json -o out/t.txt"),
    "pack": _command(f"{_PACK} --val hash:30% --shard-tokens 150 --subset 5"),
    "pack --force": _command(f"{_PACK} --force", before=f"{_PACK} --shard-tokens 150 --subset 5"),
    "pack nanogpt": _command(f"{_PACK} --val hash:30% --output-format nanogpt"),
    "show": _command("slmtok show tok.json café", **_READS),
    "view": _command("slmtok view tok.json café -o out/view.html"),
    "report": _command("slmtok report tok.json --on café.txt -o out/report.html"),
    "exposure": _command("slmtok exposure d -o out/rare.json"),
    "align": _command("slmtok align text.losses text.losses --on café.txt -o out/map.html"),
    "vocab": _command("slmtok vocab tok.json --metadata -o out/vocab.json"),
    "info": _command("slmtok info tok.json", **_READS),
    "verify": _command("slmtok verify tok.json d", **_READS),
    "audit": _command("slmtok audit d --on c.txt --document line -o out/audit.json"),
    "eval": _command("slmtok eval tok.json small.json --on café.txt", **_READS),
    "diff": _command("slmtok diff tok.json small.json --on c.txt", **_READS),
    "export": _command("slmtok export tok.json --output-format hf --no-verify -o out/hf"),
    "export --force": _command(
        "slmtok export tok.json --output-format hf --no-verify -o out/hf --force",
        before="slmtok export small.json --output-format hf --no-verify -o out/hf",
    ),
    "import": _command("slmtok import hf/tokenizer.json --no-verify -o out/t.json"),
    "bench": _command("slmtok bench --against tokenizers --on c.txt -t tok.json --rounds 1", **_READS),
    "sample-corpus": _command("slmtok sample-corpus --bytes 3000 -o out/s.txt"),
    "completion": _command("slmtok completion bash", **_READS),
}
MODEL_COMMANDS: dict[str, Command] = {
    "slm train": _command(_TRAIN),
    "slm resume": _command("slm resume out/run", copy=("stopped", "out/run")),
    "slm resume --step": _command("slm resume run --step 3 --budget steps=4 -o out/new"),
    "slm demo": _command(_DEMO),
    "slm config": _command("slm config --preset cpu-demo", **_READS),
    "slm batches": _command("slm batches d --n 1", **_READS),
    "slm eval": _command("slm eval out/run --losses out/a.losses", **_RUN_COPY),
    "slm compare": _command("slm compare run.losses run.losses --resamples 100", **_READS),
    "slm ablate": _command(f"slm ablate d d --cpu -o out/ablation --budget steps=1 --seeds 1 {_SETS}"),
    "slm status": _command("slm status run", **_READS),
    "slm passkey": _command("slm passkey out/run --depths 50 --samples 1 --threads 1", **_RUN_COPY),
    "slm pairs": _command("slm pairs run pairs.jsonl --threads 1", **_READS),
    "slm passkey -o": _command(
        "slm passkey run --depths 50 --samples 1 --threads 1 -o out/p.json --plot out/p.svg --force",
        before="slm passkey run --depths 0 --samples 1 --threads 1 -o out/p.json --plot out/p.svg",
    ),
    "slm probe": _command("slm probe out/run --tasks copy --steps 1 --samples 2 --threads 1", **_RUN_COPY),
    "slm prompts": _command("slm prompts out/run --max-new 2 --threads 1", **_RUN_COPY, notes=NOTE),
    "slm plot": _command("slm plot run -o out/curves.svg"),
    "slm report": _command("slm report run -o out/report.html --threads 1", notes=NOTE),
    "slm bench": _command("slm bench run --batch-sizes 1 --seconds 0.05 --threads 1", **_READS),
    "slm doctor": _command("slm doctor run d", **_READS),
    "slm sample": _command("slm sample run the --max-new 4 --threads 1", **_READS),
    "slm chat": _command(
        "slm chat run --max-new 4 --transcript out/chat.txt --threads 1", stdin="chat.txt", notes="not carried out"
    ),
    "slm logprobs": _command("slm logprobs run --prompt the", **_READS),
    "slm info": _command("slm info run", **_READS),
    "slm export": _command("slm export run -o out/hf"),
    "slm export --force": _command("slm export run -o out/hf --force", before="slm export run -o out/hf"),
    "slm completion": _command("slm completion bash", **_READS),
}
