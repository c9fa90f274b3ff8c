"""Wrong inputs of `slm` whose message once misled: what is said, the exit status, and that nothing is changed."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

TEXT = "The cat sat on the mat. A dog saw the cat, and the cat saw the dog.\n"

CASES = {
    "train data -o new --seq-len 64,128": (2, "fix:   --seq-len 64, and a command for 128; or --seq-len 64128\n"),
    "train data -o new --set data.seq_len=64,128": (
        2,
        "fix:   --set data.seq_len=64, and a command for 128; or --set data.seq_len=64128\n",
    ),
    "eval run --on data --json new.json": (2, "fix:   slm eval run --on data --json > new.json\n"),
    "eval run --certificate run/model.safetensors --force": (2, "output 'run/model.safetensors' is also the input"),
    "eval run --losses run/tok.json --force": (2, "fix:   name another --losses"),
    "eval run --losses run": (1, "error: output 'run' is a folder\n"),
    "eval run --certificate nowhere/c.json": (1, "no folder 'nowhere' for the output 'c.json'"),
    "probe run --seed 9999999999999999999": (2, "an integer from 0 to 9,223,372,036,854,775,807, not"),
    "passkey run --max-new 9999999999": (2, "an integer from 1 to 1,000,000, not"),
    "status run --watch --every 9999999999": (2, "fix:   --every 365d\n"),
    "status run --stale never": (2, "fix:   --stale 365d\n"),
    "status run --stale soon": (2, "fix:   --stale 130s, for instance\n"),
    "batches data --seq-len 9999999999": (2, "an integer from 1 to 16,777,216, not"),
    "bench run --batch-sizes 1,99999999999": (2, "fix:   --batch-sizes 1\n"),
    "bench run --batch-sizes 999999999999999999999": (2, "takes sizes up to 1,000,000"),
    "eval run --stride 0": (2, "--stride takes an integer >= 1, not '0'"),
    "eval run --on tok.json": (2, "tok.json is a tokenizer file of slmtok, not text"),
    "eval run --on a.counts": (2, "a.counts is a counts file, not text"),
    "eval run --on run": (2, "error: 'run' is a run of slm, not text\n"),
    "eval tok.json --on a.txt": (2, "fix:   slmtok eval tok.json --on a.txt\n"),
    "config tok.json --check": (2, "--check needs a FILE of settings; tok.json is a tokenizer"),
    "batches nothing": (1, "error: no file or folder 'nothing'\n"),
    "batches data --pack best": (2, "fix:   --pack best_fit\n"),
    "batches data/train-00000.bin": (2, "fix:   slm batches data\n"),
    "batches a.counts -t tok.json": (2, "a.counts is a counts file, not text"),
    "batches run/checkpoints/step-4 -t tok.json": (2, "fix:   name the text, or the run: run\n"),
    "resume run": (1, "fix:   slm resume run -o run-2 --budget steps=8\n"),
    "resume run --step 3": (1, "error: the run has no checkpoint of step 3\n"),
    "resume run --set abc": (2, "error: --set 'abc' is not NAME=VALUE\n"),
    "resume run -o new": (1, "fix:   slm resume run -o new --budget steps=8\n"),
    "resume run --step 4 -o new --set model.dropout=0.1": (
        2,
        "the model of a run does not change",
    ),
    "train tok.json -o r": (2, "error: DATA is missing: 'tok.json' is a tokenizer\n"),
    "sample tok.json": (2, "error: RUN is missing: 'tok.json' is a tokenizer\n"),
    "sample gpt2 --prompt hi": (2, "error: RUN is missing: 'gpt2' is a tokenizer\n"),
    "batches tok.json": (2, "is missing: 'tok.json' is a tokenizer\n"),
    "sample run/model.safetensors": (1, "fix:   slm sample run\n"),
    "status run/checkpoints/step-4": (1, "fix:   slm status run\n"),
    "info run/checkpoints/step-4": (2, "fix:   slm info run\n"),
    "align run run": (2, "fix:   slmtok align run run --on TEXT\n"),
    "eval run --by domain": (2, "fix:   use --breakdown, which also reports bits by domain\n"),
    "train data --output_dir r --bf16 --fp16": (2, "fix:   slm train data -o r --precision fp16\n"),
    "train --data_dir=data --out_dir=r --eval_interval=250 --dtype=bfloat16": (
        2,
        "fix:   slm train data -o r --set run.eval_every=250 --set run.precision=bf16\n",
    ),
    "train data -o r --no_such=1": (2, "error: unknown option '--no_such'\n"),
    "train data --init_from=resume --out_dir=run": (2, "fix:   slm resume run -o run-2 --budget steps=8\n"),
    "train data --resume run": (2, "fix:   slm resume run -o run-2 --budget steps=8\n"),
    "sample gpt2 Hello": (1, "limit: RUN is a folder that slm train wrote; no pretrained models are loaded; runs in"),
    "sample openai-community/gpt2 Hello": (1, "limit: RUN is a folder that slm train wrote; no pretrained models are"),
    "train data -o r --n-layers 4": (2, "fix:   use --set model.n_layers=4\n"),
    "train data -o r --cpu": (2, "fix:   use --device cpu\n"),
    "train data -o r --set optim.lr=0": (2, "limit: greater than 0\n"),
    "train data -o r --set optim.lr=1e40": (2, "limit: less than or equal to 1e30\n"),
    "train data -o r --budget epochs=2e9": (2, "limit: less than or equal to 1e9\n"),
    "train data -o r --set optim.betas=0.9,1.5": (2, "limit: less than 1\n"),
    "train data -o r --budget steps=5,epochs=1": (2, "fix:   --budget steps=5\n"),
    "train data -o r --preset gpt2-small": (2, "fix:   --preset gpt2-124m\n"),
    "train data -o r --preset meta/llama-7b": (2, "'base-1b8' is most like it\n"),
    "ablate tok.json tok.json": (2, "'tok.json' is a tokenizer, not packed data"),
    "config -o c.yaml": (2, "fix:   use stdout: slm config > c.yaml\n"),
    "config -o a.txt": (2, "fix:   use stdout: slm config > NEW; 'a.txt' exists and would be replaced\n"),
    "sample run -o out.txt": (2, "fix:   use stdout: > out.txt\n"),
    "sample run --temp 0.5": (2, "fix:   use --temperature 0.5\n"),
    "ablate --seeds 0": (2, "fix:   --seeds 3, as without it\n"),
    "plot run/checkpoints": (1, "fix:   slm plot run\n"),
    "eval data": (1, "'data' is packed data, not a run folder"),
    "info nope.json": (1, "fix:   name a run, a vocab.json, or a preset (slm info presets)\n"),
    "info rum --diagram": (1, "\n  fix:   slm info run --diagram\n"),
    "info data": (2, "fix:   slmtok info data\n"),
    "info run/result.json": (2, "fix:   slm info run\n"),
    "--seed 1 train data": (2, "fix:   slm train data --seed 1\n"),
    "train data -o r --budget steps=1e400": (2, "steps"),
    "train data -o r --budget epochs=1e300": (2, "epochs"),
    "bench --seconds 1e400": (2, "--seconds takes a time above 0"),
    "passkey run --digits 0": (2, "fix:   --digits 5\n"),
    "info tok.json": (2, "fix:   slmtok info tok.json\n"),
    "info a.counts": (2, "slmtok info a.counts\n"),
    "info a.txt": (2, "error: 'a.txt' is text, not a run, a preset or a vocab.json\n"),
    "info run/model.safetensors": (2, "is a file of run, not a run, a preset or a vocab.json\n"),
    "config run/config.yaml": (2, "fix:   slm config --check run/config.yaml\n"),
    "train data -o r --config tok.json": (2, "tok.json is a tokenizer file of slmtok, not a configuration"),
    "train data -o r --config a.counts": (2, "a.counts is a counts file, not a configuration"),
    "train data -o r --config run/result.json": (
        2,
        "run/result.json is not a configuration: it is a file of a run",
    ),
    "train data -o r --set model.d_model=abc": (2, "  where: --set model.d_model\n"),
    "train data -o r --set model.seq_len=0": (2, "error: model.seq_len is 0\n"),
    "train data -o r --set model.dropout=1.0": (2, "error: model.dropout is 1.0\n"),
    "train data -o r --preset cpu-demo --set model.n_heads=5": (
        2,
        "  limit: n_heads is a multiple of n_kv_heads; n_kv_heads 4: of the preset\n"
        "  fix:   --set model.n_heads=5 --set model.n_kv_heads=5 --set model.d_model=130, or --set model.n_heads=4\n",
    ),
    "config --set model.n_layers=x": (2, "  where: --set model.n_layers\n"),
    "train data -o r --device cpu --set model.n_layers=400 --set model.d_model=8192": (
        2,
        "fix:   --set model.n_layers=",
    ),
    "train data -o r --epochs 0": (2, "fix:   use --budget epochs=3, for instance\n"),
    "train data -o r --budget steps=-1": (
        2,
        "limit: an integer >= 1\n  fix:   leave it out: the budget is then that of the preset",
    ),
    "train data -o r --max-steps -1": (2, "fix:   leave it out: the budget is then that of the preset"),
    "train data -o r --budget epochs=-1": (2, "limit: greater than 0\n"),
    "ablate --text a.txt --vocabs 300,300 --cpu": (2, "fix:   --vocabs 300,600\n"),
    "ablate --text a.txt --vocabs 300,300,320 --cpu": (2, "fix:   --vocabs 300,320\n"),
    "ablate --text a.txt --patterns gpt2,gpt2 --cpu": (2, "fix:   --patterns gpt2,slm,o200k\n"),
    "config --list": (2, "fix:   slm info presets\n"),
    "prompts --list": (2, "fix:   slm prompts run --max-new 1 -o prompts.json\n"),
    "batches run --first-step -1": (2, "the last step of run is 3\n  where: slm batches\n  fix:   --first-step 3\n"),
    "batches run --first-step -9": (2, "--first-step takes an integer >= 0, not '-9'\n"),
    "bench --preset run --batch-sizes 4": (2, "fix:   slm bench run --batch-sizes 4\n"),
    "plot base=run new=run2 -o c.png": (1, "fix:   slm plot run run2 -o c.png\n"),
    "pairs run equal.jsonl": (
        1,
        "fix:   --good good --bad bad; besides, the two texts are equal: leave the line out\n",
    ),
    "train data -o r --max-steps 0": (2, "fix:   use --budget steps=500, for instance\n"),
    "train data -o r --budget minutes=0": (2, "fix:   --budget time=3min, for instance\n"),
    "train data -o r --budget iters=7": (2, "fix:   --budget steps=7\n"),
    "sample run --start hi": (2, "fix:   use --prompt hi\n"),
    "sample run --num_samples 3": (2, "fix:   use --n 3\n"),
    "encode a.txt -t tok.json": (2, "fix:   slmtok encode a.txt -t tok.json\n"),
    "generate run": (2, "fix:   slm sample run\n"),
    "version": (2, "fix:   slm --version\n"),
    "compare tok.json tok.json": (2, "fix:   slmtok diff tok.json tok.json\n"),
    "doctor nope": (1, "error: no file or folder 'nope'\n"),
    "eval run --on a.txt --split tail": (1, "fix:   --split all\n"),
    "eval run --on a.txt --split validation": (1, "fix:   --split val\n"),
    "batches a.txt -t tok.json --split validation": (2, "'val' is most like it\n"),
    "batches a.txt -t tok.json --split nonsense": (2, "fix:   --split train, or --split val\n"),
    "demo a.txt -o d --budget 2min": (2, "fix:   --budget time=2min\n"),
    "eval run --stride 00": (2, "fix:   leave out --stride: its default is half a window; at least 1\n"),
    "eval run --seq-len 0": (2, "fix:   leave out --seq-len: its default is that of the model; at least 1\n"),
    "sample --model run": (2, "fix:   use an argument for the run: slm sample run\n"),
    "sample run --file a.txt": (2, 'fix:   use --prompt "$(cat a.txt)"\n'),
    "logprobs --model run": (2, "fix:   use an argument for the run: slm logprobs run\n"),
    "pairs --checkpoint run p.jsonl": (2, "fix:   use an argument for the run: slm pairs run\n"),
    "chat run --system x": (2, "fix:   use the first text of the chat for it;"),
    "logprobs run hi --top-k 5": (2, "fix:   use --top 5\n"),
    "logprobs run hi --temperature 0.7": (2, "fix:   leave it out: nothing is drawn, and the probabilities are at"),
    "passkey run --n 5": (2, "fix:   use --samples 5\n"),
    "probe run --lr 1e-3 --n 5": (2, "fix:   use --samples 5\n"),
    "batches run --steps 3": (2, "fix:   use --n 3\n"),
    "config --lr 1e-3": (2, "fix:   use --set optim.lr=1e-3\n"),
    "ablate a b --steps 3 --learning-rate 1e-3": (
        2,
        "; with that mended: slm ablate a b --budget steps=3 --set optim.lr=1e-3\n",
    ),
    "ablate a b --seed 3": (2, "fix:   leave it out: --seeds N takes the seeds from 0 on, the same for each arm\n"),
    "sample run/checkpoints/step-9 hi": (1, "fix:   slm sample run --step 4 hi\n"),
    "demo --minutes 2": (2, "fix:   slm demo --budget time=2min\n"),
    "demo a.txt --steps 3": (2, "fix:   slm demo a.txt --budget steps=3\n"),
    "train data --tokens 2M": (2, "fix:   use --budget tokens=2M\n"),
    "train data --hours 1": (2, "fix:   use --budget time=1h\n"),
    "pairs run run/": (2, "error: 'run/' is a run, not a file of pairs\n"),
    "pairs run data": (2, "error: 'data' is a folder, not a file of pairs\n"),
    "train data -o r --set model.n_layers=four": (2, "fix:   --set model.n_layers=4, as in the preset, or another one"),
    "train data -o r --set run.budget=5": (2, "fix:   --set run.budget.steps=5\n"),
    "train data -o r --set run.budget=tokens=1M": (2, "fix:   --set run.budget.tokens=1M\n"),
    "train data -o run --set optim.name=adamx": (2, "fix:   --set optim.name=adamw\n"),
    "train data -o run --set optim.schedule.kind=cosin": (2, "fix:   --set optim.schedule.kind=cosine\n"),
    "train data -o run --set data.pack=best": (2, "fix:   --set data.pack=best_fit\n"),
    "train dat -o r": (1, "fix:   slm train data -o r\n"),
    "resume run --budget 10": (2, "fix:   --budget steps=10 to count batches, or --budget tokens=10\n"),
    "passkey run --depths 200": (2, "fix:   --depths 0,50,100\n"),
    "passkey run --lengths x": (2, "fix:   --lengths 512,1K,4K, for instance\n"),
    "train data -o r --preset cpu-demo --set model.n_kv_heads=3": (2, "fix:   --set model.n_kv_heads=4\n"),
    "train data -o r --set model.vocab_size=1000": (2, "  limit: the vocabulary of the data decides it\n"),
    "train data -o r --set vocab_size=1000": (2, "fix:   leave it out\n"),
    "train data -o r --vocab-size 1000": (2, "fix:   use the vocabulary of the data, which decides it: leave it out\n"),
    "train data -o r --compile": (2, "fix:   use --set run.compile=on\n"),
    "train --compile data -o r": (2, "fix:   use --set run.compile=on\n"),
    "train data -o r --compile=false": (2, "fix:   use --set run.compile=off\n"),
    "train data -o r --no-compile": (2, "fix:   use --set run.compile=off\n"),
    "train data -o r --set run.compile=true": (2, "fix:   --set run.compile=on\n"),
    "train data -o r --set run.compile=False": (2, "fix:   --set run.compile=off\n"),
    "eval run --precision bf16-mixed": (2, "fix:   --precision bf16\n"),
    "eval run --precision float16": (2, "fix:   --precision fp16\n"),
    "train data -o r model.n_layers=3": (2, "fix:   slm train data -o r --set model.n_layers=3\n"),
    "train data -o r n_layer=3 +lr=0.1": (2, "slm train data -o r --set model.n_layers=3 --set optim.lr=0.1\n"),
    "train optim.lr=0.1 data -o r": (2, "fix:   slm train --set optim.lr=0.1 data -o r\n"),
    "resume run optim.lr=0.1": (2, "fix:   slm resume run --set optim.lr=0.1\n"),
    "train data -o r nothing": (2, "fix:   slm train data -o r # there is no file or folder 'nothing'\n"),
    "train data -o r --model.n_layers=3": (2, "fix:   use --set model.n_layers=3\n"),
    "train data -o r --training.steps 10": (2, "fix:   use --budget steps=10\n"),
    "train data -o r --optim.lr 1 --model.n_layer 3": (
        2,
        "fix:   slm train data -o r --set optim.lr=1 --set model.n_layers=3\n",
    ),
    "eval --model hf --model_args pretrained=run --tasks lambada": (
        2,
        "run: slm eval run; for tasks slm eval RUN --on",
    ),
    "eval --model hf --model_args dtype=fp32,pretrained=run": (2, "fix:   slm eval run\n"),
    "eval --model_args pretrained=run": (2, "use an argument for the run: slm eval run\n"),
    "train data -o r --seed -1": (2, "  limit: an integer >= 0\n"),
    "train data -o r --threads -1": (2, "  limit: an integer >= 0\n"),
    "status run --follow": (2, "fix:   use --watch\n"),
    "demo a.txt -o d --vocab 8k": (2, "fix:   --vocab 8000, or --vocab 8192\n"),
    "train data -o r --threads auto": (2, "  limit: an integer >= 0\n"),
    "train data -o r --budget time=2h30": (
        2,
        "  limit: a time such as 130s or 2h\n  fix:   --budget time=9000s\n",
    ),
    "train data -o r --set model.dropout=1.5": (2, "fix:   --set model.dropout=0.0, as without it, or another"),
    "train data -o r --set optim.schedule=cosine": (2, "setting of it, such as --set optim.schedule.kind=cosine\n"),
    "train data -o r --set min_lr=1e-5": (2, "is a share of optim.lr: 1e-5 divided by optim.lr\n"),
    "train data -o r --min-lr 1e-5": (2, "final=SHARE, the learning rate at the end divided by optim.lr\n"),
    "train data -o r --num-workers 4": (2, "fix:   leave it out: the data are read without worker processes\n"),
    "train data -o r --tie-word-embeddings": (2, "fix:   use --set model.tie_embeddings=true\n"),
    "train data -o r --beta2 0.99": (2, "fix:   use --set optim.betas=0.9,0.99\n"),
    "sample run --dola 1,2": (2, "and the model has "),
    "eval run --split test": (1, "fix:   --split train, or --split val\n"),
    "sample run --top-k 0.9": (2, "fix:   --top-p 0.9\n"),
    "chat run --top-k 90%": (2, "fix:   --top-p 0.9\n"),
    "train data --val data/train -o r": (1, "fix:   leave --val out: the split val of data is taken\n"),
    "train data --val data/val.bin -o r": (1, "fix:   leave --val out: the split val of data is taken\n"),
    "train a.txt -t tok.json --val data/train -o r": (1, "name the folder: data, of which the split val is taken\n"),
    "ablate data data/val": (1, "data, of which the split train is trained on, and val scored\n"),
    "batches -t a.txt --n 1": (2, "fix:   slm batches a.txt -t tok.json --n 1\n"),
    "sample -t a.txt": (2, "fix:   slm sample run\n"),
    "batches a.txt": (1, "fix:   -t tok.json\n"),
    "batches data -t a.txt": (
        2,
        "fix:   leave it out: packed data have their own; or name the text in place of the data\n",
    ),
    "train -t a.txt -o r": (
        1,
        "fix:   slm train a.txt -t tok.json -o r tokenizes it while training; slmtok pack a.txt -t",
    ),
    "train data -t a.txt -o r": (2, "to train with a.txt, pack it: slmtok pack a.txt -t data/tok.json -o NEW\n"),
    "export run --output-format gguf -o run.gguf": (
        2,
        "fix:   --output-format hf -o run-hf, which convert_hf_to_gguf.py",
    ),
    "export run --format gguf -o run.gguf": (2, "fix:   use --output-format hf -o run-hf, which convert_hf_to_gguf.py"),
    "export run -o run.gguf": (2, "fix:   -o run-hf, which convert_hf_to_gguf.py of llama.cpp reads"),
    "export run -o run.bin": (2, "fix:   -o run-2\n"),
    "info cpu-demo --on nvidia-a100-40gb:2": (2, "fix:   --on a100-40gb:2\n"),
    "doctor run/model.safetensors data/train-00000.bin a.txt": (2, "fix:   slm doctor run data\n"),
    "doctor a.yaml": (2, "fix:   slm config --check a.yaml checks one of slm train\n"),
    "ablate --text a.txt --vocabs 300 600 --cpu": (2, "fix:   slm ablate --text a.txt --vocabs 300,600 --cpu\n"),
    "ablate --text a.txt --patterns slm gpt2": (2, "fix:   slm ablate --text a.txt --patterns slm,gpt2\n"),
    "ablate --text a.txt --vocabs 300,600 --match params,bytes": (2, "fix:   --match params --also bytes\n"),
    "ablate -t tok.json,data/tok.json --text a.txt": (
        2,
        "fix:   slm ablate -t tok.json -t data/tok.json --text a.txt\n",
    ),
    "bench --batch-sizes 1 8": (2, "fix:   slm bench --batch-sizes 1,8\n"),
    "passkey run --lengths 64, 32": (2, "fix:   slm passkey run --lengths 64,32\n"),
    "probe run --tasks copy reverse": (2, "fix:   slm probe run --tasks copy,reverse\n"),
    "batches run --split validation": (2, "fix:   --split val\n"),
    "train data -o r --set model.d_model=32,model.n_layers=1": (
        2,
        "fix:   --set model.d_model=32 --set model.n_layers=1\n",
    ),
    "train data -o r --config b.yaml": (1, "fix:   --config a.yaml\n"),
    "config heads.yaml": (2, "fix:   slm config --check heads.yaml\n"),
    "compare run/eval/val.json run2/eval/val.json": (2, "fix:   slm eval run --losses run-a.losses && slm eval run2"),
    "report run --with a.txt": (2, "fix:   leave a.txt out: the results in RUN/eval are shown without --with\n"),
    "train data run2/../data -o r": (2, "fix:   slm train --set 'data.train=[data,run2/../data]' -o r\n"),
    "train data,data -o r": (2, "fix:   slm train --set 'data.train=[data,data]' -o r\n"),
    "status run,run2": (2, "fix:   slm status run && slm status run2\n"),
    "bench run run2 --seconds 1": (2, "fix:   slm bench run --seconds 1 && slm bench run2 --seconds 1\n"),
    "prompts run run2": (2, "fix:   slm prompts run && slm prompts run2\n"),
    "plot run,run2 -o new.png": (2, "fix:   slm plot run run2 -o new.png\n"),
    "plot run -o a.png b.png": (2, "fix:   slm plot run -o a.png && slm plot run -o b.png\n"),
    "report run run/eval/val.json -o new.html": (2, "fix:   slm report run --with run/eval/val.json -o new.html\n"),
    "info cpu-demo tiny-3m": (2, "fix:   leave one out: slm info takes RUN|PRESET|FILE and options\n"),
    "info cpu-demo,tiny-3m": (2, "error: 'cpu-demo,tiny-3m' is 2 names, not one preset\n"),
    "compare run/eval/val.json run2/eval/val.json --content": (2, " && slm compare run-a.losses run2-b.losses\n"),
    "compare run/eval/val.json b.losses": (
        1,
        "fix:   slm eval run --losses run.losses && slm compare run.losses b.losses\n",
    ),
    "compare run/eval/val.json run/eval/val.json": (
        2,
        " --losses run.losses && slm compare run.losses OTHER.losses  # OTHER.losses stands",
    ),
    "eval run --on a.txt data": (2, "fix:   slm eval run --on a.txt && slm eval run --on data\n"),
    "eval run --check run/eval/val.json run2/eval/val.json": (
        2,
        "fix:   slm eval run --check run/eval/val.json && slm eval run --check run2/eval/val.json\n",
    ),
    "eval run --step 2,4": (2, "  fix:   --step 4\n"),
    "eval run --precision fp32,bf16": (2, "fix:   --precision fp32, and a command for each other value\n"),
    "train data --precision bf16 fp32": (2, "slm train data --precision bf16, and a command for each other value\n"),
    "train data -o r --precision bf16,fp32": (2, "fix:   --precision bf16, and a run for each other value\n"),
    "train data -o r --seed 1,2": (2, "fix:   --seed 1, and a run for each other value\n"),
    "train data -o r --set optim.lr=1e-3,3e-3": (2, "--set optim.lr=0.001, and a run for each other value\n"),
    "train data -o r --set model.n_layers=2,4": (2, "--set model.n_layers=2, and a run for each other value\n"),
    "train data -o r --budget steps=10,20": (2, "fix:   --budget steps=10, and a run for each other value\n"),
    "train data -o r --preset cpu-demo,tiny-3m": (2, "fix:   --preset cpu-demo, and a run for each other value\n"),
    "sample run --temperature 0.5,0.8": (2, "fix:   --temperature 0.5, and a command for each other value\n"),
    "sample run --top-p 0,9": (2, "fix:   --top-p 0.9\n"),
    "sample run --min-p 5%": (2, "fix:   --min-p 0.05\n"),
    "export run -o new.onnx": (2, "fix:   -o new\n"),
    "train data -o r --budget 5 epochs": (2, "fix:   use --budget epochs=5\n"),
    "sample run --ids 1 2 3": (2, "fix:   slm sample run --ids 1,2,3\n"),
    "bench run --seconds 0,5": (2, "fix:   --seconds 0.5\n"),
    "demo a.txt --vocab 300,400 -o d": (2, "fix:   --vocab 300, and a demo for each other size\n"),
    "ablate --text a.txt --vocab 300,400": (2, "fix:   --vocabs 300,400\n"),
    "ablate --text a.txt --vocabs=300 600": (2, "fix:   slm ablate --text a.txt --vocabs 300,600\n"),
    "ablate --text a.txt --vocabs 300,600 --match bytes flops": (
        2,
        "fix:   slm ablate --text a.txt --vocabs 300,600 --match bytes --also flops\n",
    ),
    "ablate --text a.txt --patterns x=b. gpt2": (2, "fix:   slm ablate --text a.txt --patterns x=b. --patterns gpt2\n"),
    "ablate --text a.txt nothing --vocabs 300,600": (
        2,
        "error: 'nothing' is no file or folder, and stands outside of an option\n",
    ),
    "ablate data data --seeds 0,1,2,3": (2, "fix:   --seeds 4\n"),
    "sample run --promt hi": (2, "fix:   use --prompt hi\n"),
    "train data --val texts -o r": (
        2,
        "fix:   slmtok pack texts -t data/tok.json --val none -o texts-val && slm train data -o r --val texts-val\n",
    ),
    "train data --set data.val=a.txt -o r": (2, "-o a-val && slm train data -o r --val a-val\n"),
    "train data -o r --preset nothing": (2, "fix:   use one of them\n"),
    "info nothing": (2, "fix:   slm info run, or slm info run2\n"),
    "sample run run2 --max-new 1": (0, "note: 'run2' is also a run; the prompt is its name: slm sample run2 samples"),
    "info --on cuda": (2, "fix:   --on h100 or another of them, with a preset; --device of slm train, eval and sample"),
    "info run --on gpu": (2, "error: --on plans training on a device of a known speed, and 'gpu' is a type of device"),
    "info cpu-demo --on cuda:1": (2, "  limit: DEVICE or DEVICE:N, with one of h100, "),
    "ablate data data --lr 1e-3": (
        2,
        "fix:   --set optim.lr=1e-3, the rate of all arms; --lr sweep takes for each arm",
    ),
    "ablate data data --lr 1e-3,3e-3": (2, "fix:   --set optim.lr=RATE, the rate of all arms; --lr sweep takes"),
    "ablate data data --lr swep": (2, "fix:   --lr sweep\n"),
    "train data --budget steps=30,40": (
        2,
        "fix:   --output run-2 --budget steps=30, and a run for each other value, with an output of its own\n",
    ),
    "resume run --budget steps=30,40": (2, "fix:   --output run-2 --budget steps=30, and a run for each other value"),
    "train data --force --seed 1,2": (2, "fix:   --seed 1, and a run for each other value\n"),
    "train data -o r --set optim.x=1": (2, "fix:   list all settings with their meanings: slm config\n"),
    "export run run2": (2, "fix:   slm export run -o run-out && slm export run2 -o run2-out\n"),
    "export run run2 -o x": (2, "fix:   slm export run -o x-run && slm export run2 -o x-run2\n"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text, its tokenizer and counts, packed data, and a run of four steps on them."""
    import slmtok
    from slmmodel.app import train
    from slmmodel.cli import main

    folder = tmp_path_factory.mktemp("made")
    (folder / "a.txt").write_text(TEXT * 200)
    tokenizer = slmtok.train(folder / "a.txt", vocab_size=290)
    tokenizer.save(folder / "tok.json")
    slmtok.count(folder / "a.txt").save(folder / "a.counts")
    slmtok.pack(folder / "a.txt", tokenizer, folder / "data")
    small = {"model.n_layers": 1, "model.d_model": 16, "model.seq_len": 64, "run.batch_tokens": 64}
    options = {"preset": "cpu-demo", "budget": "steps=4", "settings": small, "device": "cpu", "progress": False}
    train(folder / "data", output=folder / "run", **options)
    assert main(["eval", f"{folder}/run", "--no-baselines", "-q"]) == 0
    shutil.copytree(folder / "run", folder / "run2")
    (folder / "texts").mkdir()
    (folder / "texts" / "b.txt").write_text(TEXT)
    (folder / "equal.jsonl").write_text('{"good": "a b", "bad": "a b"}\n')
    (folder / "a.yaml").write_text("run: {budget: {steps: 1}}\n")
    (folder / "heads.yaml").write_text("model: {preset: cpu-demo, d_model: 100, n_heads: 3}\ndata: {train: data}\n")
    return folder


@pytest.mark.parametrize("line", CASES)
def test_the_message_names_the_cause(slm, made, tmp_path, line):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    before = {path: path.stat().st_size for path in sorted(tmp_path.rglob("*"))}
    status, message = CASES[line]
    ran = slm(*line.split(), code=status)
    assert message in ran.err, ran.err
    assert {path: path.stat().st_size for path in sorted(tmp_path.rglob("*"))} == before


PASTED = {
    "--lr 1e-3 --min-lr 1e-4 --beta1 0.8 --beta2 0.99": ("optim", {"betas": [0.8, 0.99], "lr": 1e-3}),
    "--gradient-checkpointing --beta1 0.8": ("model", {"activation_checkpointing": True}),
}


@pytest.mark.parametrize("options", PASTED)
def test_the_command_in_the_fix_sets_what_was_meant(slm, made, options):
    import shlex

    import yaml

    line = ["train", made / "data", "-o", "new", "--preset=cpu-demo", "--budget=steps=1", *options.split()]
    fix = shlex.split(slm(*line, code=2).err.rpartition("fix:   slm ")[2])
    slm(*fix, "--no-eval", code=0)
    section, values = PASTED[options]
    recorded = yaml.safe_load(Path("new/config.yaml").read_text())
    assert recorded[section].items() >= values.items()
    if section == "optim":
        assert recorded["optim"]["schedule"]["final"] == 0.1


def test_validation_data_of_another_tokenizer_are_refused(slm, made, tmp_path):
    """Packed data beside text, whose ids the model need not have."""
    import slmtok
    from slmmodel import app
    from slmmodel.errors import Mismatch

    slmtok.train(made / "a.txt", vocab_size=280).save("small.json")
    line = ["train", made / "a.txt", "-t", "small.json", "--val", made / "data", "-o", "new", "--budget=steps=1"]
    err = slm(*line, code=1).err
    assert "training and validation data were made with different tokenizers" in err and f"{made / 'data'}: " in err
    fix = err.rpartition("fix:   ")[2]
    assert "slmtok pack TEXT -t small.json --val none -o NEW" in fix and not Path("new").exists()
    settings = {"data.val": str(made / "data")}
    with pytest.raises(Mismatch, match="different tokenizers"):
        app.train(made / "a.txt", tokenizer="small.json", settings=settings, output="new")
    slmtok.pack(made / "a.txt", slmtok.load("small.json"), "val", val="none")
    slm(*line[:4], "--val", "val", *line[6:], code=0)


def test_a_configuration_of_another_trainer_is_mended_in_one_go(slm, made):
    """Each name that the fix gives stands where the wrong one stood."""
    import re

    file = Path("nano.yaml")
    file.write_text("model:\n  n_layer: 1\n  n_embd: 64\noptim: {lr: 1e-3}\nmax_iters: 20\n")
    line = ["train", made / "data", "--config", file, "-o", "new", "--preset=cpu-demo", "--dry-run"]
    fix = slm(*line, code=2).err.rpartition("fix:   ")[2]
    text = file.read_text()
    for ours, other in re.findall(r"([\w.]+) for ([\w.]+)", fix):
        text = text.replace(f"{other.rpartition('.')[2]}:", f"{ours}:")
    file.write_text(text)
    assert "peak learning rate 0.001" in slm(*line, code=0).out


def test_a_configuration_names_the_line_at_fault(slm, made):
    file = Path("c.yaml")
    file.write_text("model:\n  n_layers: 2\n  n_heads: 2\n  n_kv_heads: 4\n  dropout: 0.1\n")
    line = ["train", made / "data", "--config", file, "-o", "new", "--preset=cpu-demo", "--dry-run"]
    err = slm(*line, code=2).err
    assert "where: c.yaml, line 3, c.yaml, line 4\n" in err
    assert "would train" in slm(*line, *err.rpartition("fix:   ")[2].partition(";")[0].split(), code=0).out
    file.write_text(f"data: {{train: corpus/, tokenizer: {made / 'tok.json'}}}\n")
    for command in (["train", "--config", file, "-o", "new"], ["config", "--check", file]):
        assert "named in c.yaml, line 1\n" in slm(*command, code=1).err


def test_data_of_another_tokenizer_are_packed_again_with_their_options(slm, made, tmp_path):
    import shlex

    import slmtok

    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    slmtok.train("a.txt", vocab_size=280).save("small.json")
    slmtok.pack("a.txt", slmtok.load("small.json"), "other", separator="dog.\n", val="tail:10%", eos=False)
    slmtok.pack("a.txt", slmtok.load("run/tok.json"), "own")
    Path("mix.yaml").write_text("data: {train: [{path: own}, {path: other}]}\n")
    lines = {
        "batches own -t small.json": "-t small.json -o NEW",
        "config --check mix.yaml": r"-t own/tok.json --no-eos --separator $'dog.\n' --val tail:10% -o NEW",
        "eval run --on other": r"-t run/tok.json --no-eos --separator $'dog.\n' --val tail:10% -o NEW && "
        "slm eval run --on NEW",
    }
    for line, packed in lines.items():
        fix = slm(*line.split(), code=1).err.rpartition("slmtok pack a.txt ")[2].strip()
        assert fix == packed
    words = shlex.split(fix.partition(" && ")[0].replace(r"$'dog.\n'", "'dog.\n'"))
    from slmtok.cli import main

    assert main(["pack", "a.txt", *words]) == 0
    slm("eval", "run", "--on", "NEW", "--no-baselines", code=0)
    slmtok.pack("a.txt", slmtok.load("tok.json"), "whole", val="none")
    note = "note: whole has no split val: all its documents, the split train, are taken\n"
    assert note in slm("eval", "run", "--on", "whole", "--no-baselines", code=0).err


def test_a_path_of_a_split_names_the_split_that_is_taken(slm, made):
    import slmtok

    slmtok.pack(made / "a.txt", slmtok.load(made / "tok.json"), "whole", val="none")
    line = ["train", made / "data", "--val", "whole/val", "-o", "r", "--preset=cpu-demo", "--budget=steps=1"]
    fix = "name the folder: whole, of which the split train is taken, since it has no split val\n"
    assert slm(*line, code=1).err.endswith(f"fix:   {fix}")


def test_baselines_are_not_another_result(slm, made, tmp_path):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    assert "had another result" not in slm("eval", "run", code=0).err
    assert "had another result" in slm("eval", "run", "--no-baselines", code=0).err


def test_calls_of_python_name_the_call_that_was_meant(made, monkeypatch):
    import slmmodel
    from slmmodel.errors import UnsupportedFormat, WrongType

    monkeypatch.chdir(made)
    with pytest.raises(
        WrongType, match=r"fix:   import slmmodel; slmmodel.app.train\('a.txt', tokenizer='tok.json'\)$"
    ):
        slmmodel.train("a.txt", tokenizer="tok.json")
    assert callable(slmmodel.app.train)
    with pytest.raises(WrongType, match=r"fix:   run.model\(torch.tensor\(\[ids\]\)\).logits, where run is this Run"):
        slmmodel.load("run")([1, 2])
    with pytest.raises(UnsupportedFormat, match=r"slmtok pack a\.txt -t \S+ -o data"):
        slmmodel.train("a.txt")


def test_wrong_settings_of_the_model_do_not_import_torch(made):
    import subprocess
    import sys

    line = ["train", "data", "-o", "r", "--set", "model.n_heads=5"]
    script = f"import sys; from slmmodel.cli import main; code = main({line!r}); print(code, 'torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], cwd=made, capture_output=True, text=True)
    assert ran.stdout == "2 False\n", ran


def test_the_fix_of_a_model_that_is_too_large_fits(slm, made):
    """No chain of fixes: the setting that is named suffices."""
    line = ["train", made / "data", "--dry-run", "--device=cpu", "--set=model.n_layers=400", "--set=model.d_model=8192"]
    fix = slm(*line, code=2).err.rpartition("fix:   ")[2].partition(", or ")[0]
    slm(*line, *fix.split(), code=0)


def test_a_text_of_two_bytes_is_scored(slm, made, monkeypatch):
    """N-grams are longer than the text."""
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"hi")))
    shutil.copytree(made / "run", "run")
    assert "bpb_total" in slm("eval", "run", "--on", "-", code=0).out


def test_a_split_that_is_named_is_scored(made):
    from slmmodel import app
    from slmmodel.data import open_source
    from slmmodel.errors import MissingInput, OptionError

    run = app.load(made / "run", device="cpu")
    with pytest.raises(MissingInput, match="no split 'test'"):
        run.evaluate(made / "data", split="test")
    with pytest.raises(OptionError, match=r"a text is scored whole\n.*leave it out$"):
        run.evaluate(made / "a.txt", split="test")
    with pytest.raises(OptionError, match=r"or evaluate\(split='val'\), of the data of the run$"):
        run.evaluate(made / "a.txt", split="val")
    with pytest.raises(OptionError, match="with a source that is open"):
        run.run.evaluate(open_source(made / "data"), "val")
    scores = run.evaluate(made / "data", split="train")
    assert scores.n_docs == run.run.evaluate(open_source(made / "data", "train")).n_docs


def test_each_program_knows_the_commands_of_the_other():
    from slmmodel.cli import COMMANDS
    from slmtok.cli import COMMANDS as OF_SLMTOK
    from slmtok.cli.unknown_commands import OF_SLM

    assert set(OF_SLM) == COMMANDS.keys() - OF_SLMTOK.keys()


def test_a_device_may_have_another_memory(slm):
    usual = slm("info", "cpu-demo", "--on", "a100", "--json", code=0).json["result"]["on"]
    small = slm("info", "cpu-demo", "--on", "A100-40GB", "--json", code=0).json["result"]["on"]
    assert (usual["memory"], small["memory"]) == (80e9, 40e9) and small["sequences"] < usual["sequences"]


def test_quiet_keeps_what_a_dry_run_says(slm, made):
    line = ["train", made / "data", "-o", "new", "--preset=cpu-demo", "--dry-run"]
    assert slm(*line, "-q", code=0).out == slm(*line, code=0).out != ""


def test_a_run_that_was_not_finite_is_trained_again(slm, made):
    small = ["--set=model.n_layers=1", "--set=model.d_model=16", "--set=model.seq_len=64", "--set=run.batch_tokens=64"]
    line = ["train", made / "data", "-o", "new", "--preset=cpu-demo", "--budget=steps=20", "--no-eval", *small]
    err = slm(*line, "--set", "optim.lr=1e30", code=1).err
    assert "fix:   a lower optim.lr, in another --output or with --force, or inspect" in err
    err = slm(*line, "--set", "optim.lr=1e-3", code=2).err
    assert "fix:   --force to train again: the run was not finite; or another --output\n" in err
    slm(*line, "--set", "optim.lr=1e-3", "--force", code=0)


def test_several_data_are_mixed_by_the_command_in_the_fix(slm, made):
    line = ["train", "data", "a.txt", "-t", "tok.json", "-o", "new", "--preset", "cpu-demo", "--budget", "steps=1"]
    shutil.copytree(made, Path(), dirs_exist_ok=True)
    fix = shlex.split(slm(*line, code=2).err.rpartition("fix:   slm ")[2])
    slm(*fix, "--no-eval", "--set", "model.seq_len=32", "--set", "run.batch_tokens=64", code=0)
    from slmmodel.checkpoint import RunFolder

    assert [Path(each["path"]).name for each in RunFolder(Path("new")).config["data"]["train"]] == ["data", "a.txt"]


def test_joined_losses_and_results_are_compared(slm, made):
    shutil.copytree(made, Path(), dirs_exist_ok=True)
    line = "compare run/eval/val.json run2/eval/val.json"
    for command in slm(*line.split(), code=2).err.rpartition("fix:   slm ")[2].split(" && slm "):
        slm(*shlex.split(command), code=0)
    assert "run-a-2.losses" in slm(*line.split(), code=2).err
    assert "fix:   slm compare run-a.losses run2-b.losses\n" in slm("compare", "run-a.losses,run2-b.losses", code=2).err


@pytest.mark.parametrize("value", ["run/checkpoints/step-2", "checkpoint-2", "step-2/"])
def test_the_folder_of_a_checkpoint_names_its_step(slm, made, tmp_path, value):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    shutil.copytree("run/checkpoints/step-4", "run/checkpoints/step-2")
    assert "  fix:   --step 2\n" in slm("eval", "run", "--step", value).err
