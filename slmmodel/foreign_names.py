"""Names and values of other trainers (nanoGPT, nanochat, Hugging Face), each with what stands for it here."""

from __future__ import annotations

from collections.abc import Mapping

BATCH_TOKENS, BATCH_UNIT = "run.batch_tokens", ", which is in ids: sequences times ids of a sequence"
PASSES = ("gradient_accumulation_steps", "grad_accum_steps", "accumulate_grad_batches")
"""What other trainers call the number of passes of a step."""
OF_PASSES = (
    "run.batch_tokens is the ids of a whole step, run.micro_batch the sequences of a pass: both decide the passes"
)
HELD_OUT_SHARES = (
    *("test_size", "val_ratio", "val_frac", "val_fraction", "val_split", "val_size", "valid_size"),
    *("validation", "validation_split", "validation_size", "validation_fraction", "eval_ratio", "test_split"),
)
"""What other libraries call the share of documents that are held out, which packing decides here."""
BETAS, DEFAULT_BETAS = "optim.betas", (0.9, 0.95)
BETA_NAMES = (("beta1", "adam_beta1"), ("beta2", "adam_beta2"))
"""What other trainers call either number of `optim.betas`."""
UNITS = {
    BATCH_TOKENS: BATCH_UNIT,
    "optim.schedule.final": ", which is a share of optim.lr",
    BETAS: ", which has both: [beta1, beta2]",
}
"""Settings that other trainers have in another unit or form, each with its own."""
VOCAB_SIZES = ("model.n_vocab", "model.padded_vocab")
"""Options of a model that the data decide."""
PRECISION_SWITCHES = ("bf16", "fp16")
"""Options of other libraries that switch on the value of `run.precision` with this name."""
OUTPUTS = ("output", "output_dir", "out_dir")
"""Options of other libraries for the folder of a run."""
SEQUENCES = ("batch_size", "batch", "per_device_train_batch_size", "train_batch_size")
"""Options of other libraries for the sequences of a step."""
DEFAULT_SEQ_LEN = 256
"""Ids of a sequence in a fix, where nothing says how many."""
FOREIGN_MIXTURES = ("mixture", "mix", "sources", "datasets", "data_mixture", "mixture_weights")
"""Names of several sources with weights elsewhere."""
FOREIGN_SETTINGS = {
    **dict.fromkeys(("vocab_size", "vocab", "n_vocab", "num_embeddings"), VOCAB_SIZES[0]),
    **dict.fromkeys(
        ("learning_rate", "peak_lr", "matrix_lr", "muon_lr", "max_lr", "base_lr", "initial_lr"), "optim.lr"
    ),
    **dict.fromkeys((*BETA_NAMES[0], *BETA_NAMES[1]), BETAS),
    **dict.fromkeys(("adam_epsilon", "epsilon"), "optim.eps"),
    **dict.fromkeys(("max_grad_norm", "gradient_clipping", "clip_grad", "gradient_clip_val"), "optim.grad_clip"),
    **dict.fromkeys(("optimizer", "optim", "optimizer_type"), "optim.name"),
    **dict.fromkeys(("lr_scheduler", "lr_scheduler_type", "scheduler", "lr_decay_style"), "optim.schedule.kind"),
    **dict.fromkeys(("warmup_iters", "warmup_steps", "warmup_ratio", "num_warmup_steps"), "optim.schedule.warmup"),
    **dict.fromkeys(("min_lr", "final_lr_frac"), "optim.schedule.final"),
    **dict.fromkeys(("n_layer", "depth", "layers", "num_layers", "num_hidden_layers"), "model.n_layers"),
    **dict.fromkeys(("n_head", "heads", "num_heads", "num_attention_heads"), "model.n_heads"),
    **dict.fromkeys(("n_kv_head", "num_kv_heads", "num_key_value_heads"), "model.n_kv_heads"),
    **dict.fromkeys(("n_embd", "dim", "d_embed", "embed_dim", "hidden_dim", "hidden_size"), "model.d_model"),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "n_inner"), "model.d_ff"),
    **dict.fromkeys(
        (
            "block_size",
            "context_length",
            "context",
            "max_seq_len",
            "max_length",
            "max_position_embeddings",
            "n_positions",
        ),
        "model.seq_len",
    ),
    **dict.fromkeys(("rope_theta", "theta"), "model.rope_base"),
    **dict.fromkeys(("tie_word_embeddings", "weight_tying"), "model.tie_embeddings"),
    **dict.fromkeys(("architecture", "model_type", "model_name"), "model.arch"),
    **dict.fromkeys(("gradient_checkpointing", "grad_checkpointing"), "model.activation_checkpointing"),
    **dict.fromkeys(
        ("batch_size", "batch", "total_batch_size", "global_batch_size", "per_device_train_batch_size"),
        BATCH_TOKENS,
    ),
    **dict.fromkeys(("device_batch_size", "micro_batch_size"), "run.micro_batch"),
    **dict.fromkeys(("val_data", "validation_data", "eval_dataset", "eval_data"), "data.val"),
    **dict.fromkeys(("dtype", "torch_dtype", "mixed_precision", "precision"), "run.precision"),
    **dict.fromkeys(("eval_interval", "eval_steps", "val_interval"), "run.eval_every"),
    **dict.fromkeys(("save_interval", "save_steps", "ckpt_interval", "checkpoint_every"), "run.save_every"),
    **dict.fromkeys(("log_interval", "logging_steps", "log_every_n_steps"), "run.log_every"),
    **dict.fromkeys(("save_total_limit",), "run.keep"),
    **dict.fromkeys(("early_stopping", "early_stopping_patience"), "run.patience"),
    **dict.fromkeys(
        ("wandb", "wandb_log", "use_wandb", "log_wandb", "report_to", "logger", "tensorboard"), "run.track"
    ),
    **dict.fromkeys(("torch_compile", "compile_model"), "run.compile"),
    **dict.fromkeys(("max_iters", "iters", "max_steps", "num_iterations", "train_steps"), "run.budget.steps"),
    **dict.fromkeys(("epochs", "num_epochs", "num_train_epochs", "max_epochs"), "run.budget.epochs"),
    **dict.fromkeys(
        ("dataset", "data_path", "train_data", "train_file", "train_files", *FOREIGN_MIXTURES), "data.train"
    ),
}
"""Settings of other trainers by the last part of their name: the setting that means the same, or most nearly."""

_PRECISIONS = {
    "fp32": ("float32", "float", "single", "32", "32-true", "no"),
    "bf16": ("bfloat16", "bf16-mixed", "bf16-true"),
    "fp16": ("float16", "half", "16", "16-mixed"),
    "fp64": ("float64", "double", "64", "64-true"),
}
_ON, SWITCHED_OFF = ("true", "yes", "on", "1", "y"), ("false", "no", "off", "none", "0", "0.0", "n")
"""What other trainers write for on and off, in lower case."""
_SWITCHES = {
    "run.compile": ("on", "off"),
    "data.shuffle": ("documents", "none"),
    "data.crop_offset": ("random", "fixed"),
    "model.memory": (None, "off"),
    "optim.schedule.warmup": (None, "0"),
    # A norm of 0 would make all gradients 0; other trainers do not clip then.
    **dict.fromkeys(("optim.grad_clip", "optim.lr_scaling"), (None, "none")),
    **dict.fromkeys(("model.window", "model.softcap", "model.bptt_segments", "model.init_std"), (None, "none")),
}
"""Settings that other tools switch on and off, each with our words for both; None where there are several for on."""
FOREIGN_VALUES = {
    **{
        name: {**dict.fromkeys(_ON if on else (), str(on)), **dict.fromkeys(SWITCHED_OFF, off)}
        for name, (on, off) in _SWITCHES.items()
    },
    "run.precision": {other: ours for ours, others in _PRECISIONS.items() for other in others},
    "run.device": {"gpu": "cuda", "metal": "mps"},
    "run.parallel": dict.fromkeys(("fsdp2", "fsdp1", "zero"), "fsdp"),
    "data.pack": {
        **dict.fromkeys(("packing", "packed", "pack", "true", "concatenate"), "concat"),
        **dict.fromkeys(("padding", "padded", "pad", "none", "false"), "bucket"),
        **dict.fromkeys(("bptt", "tbptt", "truncated_bptt"), "stateful"),
    },
    "model.mlp": {"silu": "swiglu", **dict.fromkeys(("gelu_new", "gelu_pytorch_tanh", "gelu_fast"), "gelu_tanh")},
    "optim.name": dict.fromkeys(("adam", "adamw", "adamw_torch", "adamw_torch_fused"), "adamw"),
    "optim.schedule.kind": {
        **dict.fromkeys(("constant", "constant_with_warmup", "constantlr"), "const"),
        **dict.fromkeys(("cos", "cosineannealinglr", "inverse_sqrt"), "cosine"),
        **{f"cosine_{each}": "cosine" for each in ("with_warmup", "with_restarts", "with_hard_restarts_with_warmup")},
        **{f"cosine_{each}": "cosine" for each in ("with_min_lr", "warmup_with_min_lr", "annealing")},
        **dict.fromkeys(("linearlr", "linear_with_warmup", "polynomial", "polynomial_with_warmup"), "linear"),
        "warmup_stable_decay": "wsd",
    },
}
"""Values of other tools, in lower case, by setting: our value that means the same."""

FOREIGN_PRESETS = {
    **dict.fromkeys(("gpt", "gpt2", "gpt-2", "gpt2-small", "nanogpt", "nano", "small"), "124m"),
    **dict.fromkeys(("gpt2-medium", "medium"), "355m"),
    **dict.fromkeys(("gpt2-large", "large"), "774m"),
    **dict.fromkeys(("gpt2-xl", "xl"), "1.5b"),
    **dict.fromkeys(("llama", "llama2", "llama3", "llama-2", "llama-3"), "7b"),
    "distilgpt2": "82m",
    "tinyllama": "1.1b",
}
"""Models of other trainers whose names have no size, in lower case, each with its parameters."""

READ_OPTIONS = (
    *("format", "encoding", "document", "separator", "text_key", "text_template", "skip_malformed", "exclude"),
    *("domains", "sample", "max_doc_chars", "max_docs", "max_bytes", "max_chars", "max_doc_bytes", "streaming"),
    "cache_dir",
)
"""Options of slmtok that say how text is read; its `seed` is another one here."""

TRACKER_VARIABLES = {
    f"wandb_{each}": f"WANDB_{each.upper()}" for each in ("project", "entity", "mode", "tags", "notes")
}
"""Settings of other trainers that a tracker reads from the environment, each with its variable."""
_TIME_UNITS = {"second": "s", "sec": "s", "minute": "min", "min": "min", "hour": "h", "day": "d"}
FOREIGN_BUDGETS = {
    **{f"{unit}{ending}": "time={}" + short for unit, short in _TIME_UNITS.items() for ending in ("", "s")},
    **dict.fromkeys(("duration", "wallclock", "walltime", "wall-clock", "runtime"), "time={}"),
    **dict.fromkeys(("iters", "iterations", "updates", "batches", "ba", "max-steps", "max-iters"), "steps={}"),
    **dict.fromkeys(("passes", "ep"), "epochs={}"),
    **dict.fromkeys(("ids", "toks", "tok"), "tokens={}"),
    **dict.fromkeys(("compute", "fp-ops"), "flops={}"),
    **{unit: "bytes={}" + unit.upper() for unit in ("kb", "mb", "gb", "tb")},
}
"""Names of budgets elsewhere, and the budget that means the same."""
BUDGET_QUALIFIERS = {
    *("num", "number", "n", "of", "max", "maximum", "total", "train", "training", "target", "optimizer", "global"),
    *("limit", "wall", "seen"),
}
"""Words around the name of a budget that do not change what it counts: `max_train_steps`, `target_flops`."""
_FLOPS = {"g": 1e9, "giga": 1e9, "t": 1e12, "tera": 1e12, "p": 1e15, "peta": 1e15, "e": 1e18, "exa": 1e18}
SCALED_BUDGETS = {
    **{f"{prefix}flop": ("flops={}", factor) for prefix, factor in _FLOPS.items()},
    **dict.fromkeys(("petaflop-s-day", "petaflop-day", "pflop-day", "pf-day"), ("flops={}", 1e15 * 86400)),
    **dict.fromkeys(("ms", "millisecond"), ("time={}s", 1e-3)),
    "week": ("time={}d", 7),
}
"""As `FOREIGN_BUDGETS`, in the singular, for units of which ours is a part: our budget, and how much of it one has."""
TOKENS_PER_PARAMETER = ("tokens-per-param", "tokens-per-parameter", "target-param-data-ratio", "param-data-ratio")
"""Options of other trainers for the training tokens of each parameter."""


def own_setting(name: str) -> str | None:
    """The setting that means what a setting of another trainer does, with or without a section; None for others."""
    section, _, last = name.lower().replace("-", "_").rpartition(".")
    # `name` of a model, and no other.
    return FOREIGN_SETTINGS.get(f"{section}_{last}" if last == "name" else last)


def both_betas(given: Mapping[str, object]) -> str:
    """The value of `optim.betas` for settings of other trainers, of which one that is missing has its default."""
    named = {name.lower().rpartition(".")[2]: value for name, value in given.items()}
    pairs = zip(BETA_NAMES, DEFAULT_BETAS, strict=True)
    return ",".join(str(next((named[name] for name in names if name in named), own)) for names, own in pairs)


def switched_on(name: str, value: object) -> str | None:
    """The value of `run.precision` that a switch of another trainer sets; None for others, and for those set off."""
    last = name.lower().rpartition(".")[2]
    return last if last in PRECISION_SWITCHES and str(value).lower() not in SWITCHED_OFF else None


_RUN = "slmmodel.load('run').{}, or slmmodel.app.load('run') for text"
_DATA = "slmmodel.data.ShardLoader('DATA', seq_len=256, batch_size=8), batches of packed data"
OPENED = "slmmodel.load('run'), or slmmodel.app.load('run') for text"
_BUILT = (
    "from slmmodel.models import build; from slmmodel.models.presets import preset; "
    "build(preset('cpu-demo').config()) makes a model; slmmodel.load('run').model is a trained one"
)
_OPTIMIZER = "slmmodel.train('DATA', settings={'optim.name': 'muon'})"
_TRAIN = (
    "slmmodel.train('DATA', budget='epochs=N', output='NEW'), of packed data, N times, into the new folder NEW; "
    "slmmodel.app.train('CORPUS', tokenizer='TOK') takes text"
)
CALLS_ELSEWHERE = {
    "compare": "slm compare a.losses b.losses in a shell, of losses that slm eval RUN --losses FILE writes",
    "ablate": "slm ablate in a shell, then slmmodel.app.load_ablation(path)",
    **dict.fromkeys(("export", "save", "save_pretrained", "push_to_hub"), "slm export RUN -o NEW in a shell"),
    **dict.fromkeys(("branch", "finetune", "resume"), "slm resume RUN in a shell, with another budget also -o NEW"),
    "plot": "slm plot RUN -o curves.svg in a shell",
    "config": "slm config in a shell",
    "report": "slm report RUN -o report.html in a shell",
    **dict.fromkeys(("bench", "completion", "demo", "doctor"), "slm {name} --help in a shell"),
    **dict.fromkeys(
        ("batches", "chat", "info", "logprobs", "pairs", "passkey", "probe", "prompts", "status"),
        "slm {name} RUN in a shell",
    ),
    **dict.fromkeys(("generate", "sample", "pipeline", "complete"), _RUN.format("generate(ids)")),
    **dict.fromkeys(("eval", "evaluate", "estimate_loss"), _RUN.format("evaluate()")),
    **dict.fromkeys(("score", "perplexity", "loss"), _RUN.format("score(ids)")),
    **dict.fromkeys(("from_pretrained", "load_model", "open", "LLM", "restore"), OPENED),
    **dict.fromkeys(("tokenizer", "tokenize", "encode", "decode"), "slmmodel.app.load('run').tokenizer"),
    **dict.fromkeys(("Trainer", "TrainingArguments", "SFTTrainer", "fit", "pretrain"), _TRAIN),
    **dict.fromkeys(("DataLoader", "Dataset", "get_batch", "load_dataset"), _DATA),
    **dict.fromkeys(
        ("GPT", "Llama", "Model", "Transformer", "create_model", "model_from_config"),
        _BUILT,
    ),
    **dict.fromkeys(("GPTConfig", "LlamaConfig"), "from slmmodel.models.config import DecoderConfig"),
    **dict.fromkeys(("PRESETS", "presets", "list_presets"), "from slmmodel.models.presets import PRESETS"),
    **dict.fromkeys(("SamplingParams", "GenerationConfig"), "from slmmodel.sampling import SamplingOptions"),
    **dict.fromkeys(("AdamW", "Muon", "configure_optimizers"), _OPTIMIZER),
    **dict.fromkeys(("set_seed", "manual_seed"), "slmmodel.train('DATA', seed=1)"),
    "version": "slmmodel.__version__",
}
"""Names of commands and of other libraries that this package lacks, each with what stands for it."""


def reporting_function(value: object) -> tuple[str, str]:
    """The name of the function that is given for progress, or of one that does, and how it is called."""
    if value is None or value is False:
        return "None", ", as without it: nothing is shown"
    first = value[0] if isinstance(value, list | tuple) and value else value
    own, arguments = getattr(first, "__name__", ""), "(stage, done, total, text)"
    if own.isidentifier():
        return own, f", which is called as {own}{arguments}"
    return "print", f", or another function of {arguments}"
