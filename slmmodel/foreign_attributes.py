"""Names of numpy, torch and datasets that objects of this package lack, each with what stands here for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from slmmodel.absent_names import Class, adds_absent_names
from slmmodel.errors import with_import

_SAVING = ("save", "save_pretrained", "save_to_disk", "push_to_hub", "to_disk")
_DEVICES = ("to", "cuda", "cpu", "pin_memory")
_COUNTS = ("num_documents", "n_documents", "num_docs", "num_rows", "shape")
_IDS = ("num_tokens", "n_tokens", "num_ids", "n_ids", "total_tokens")
_CUTS = ("shuffle", "select", "take", "skip", "map", "filter", "train_test_split", "with_format", "set_format")
_COLUMNS = ("column_names", "features", "columns", "keys", "items")
_TEXTS = ("tokenizer", "encode", "decode", "vocab_size")
_LABELS, _INPUTS = ("labels", "y"), ("input_ids", "inputs", "tokens", "x")
_STEPS = ("state_dict", "load_state_dict", "set_epoch", "epoch", "dataset", "sampler", "num_workers")
_OFFSETS = ("offsets", "doc_offsets", "cu_seqlens", "boundaries", "indptr")
_CALLS = ("generate", "evaluate", "score", "eval", "parameters", "state_dict", "forward", *_DEVICES)
_IS_SAVED = "leave it out: the folder of packed data is the saved form, which slmtok pack wrote"
_TOKENIZER = "slmtok.load(FOLDER), the tokenizer in the folder of packed data; {own}.vocab has the sizes"
_AS_LOADER = "slmmodel.data.ShardLoader(FOLDER, seq_len=256, batch_size=8), an iterable of batches"


def _of_source(own: str) -> dict[str, str]:
    return {
        **dict.fromkeys(_OFFSETS, f"np.cumsum([0, *{own}.lengths()]), where each document begins"),
        **dict.fromkeys((*_INPUTS, "documents", "docs", "texts", "data"), f"{own}.ids(0, 0, 100), of document 0"),
        **dict.fromkeys(_COUNTS, f"{own}.n_docs"),
        **dict.fromkeys(_IDS, f"{own}.lengths().sum()"),
        "dtype": f"{own}.ids(0, 0, 1).dtype",
    }


def _of_data(own: str) -> dict[str, str]:
    return {
        **dict.fromkeys(_TEXTS, _TOKENIZER.format(own=own)),
        **dict.fromkeys(_SAVING, _IS_SAVED),
        **dict.fromkeys((*_CUTS, *_COLUMNS, *_DEVICES, *_STEPS, *_LABELS, "batch_size"), _AS_LOADER),
    }


def _of_sequences(own: str, first: str) -> dict[str, str]:
    source = f"source = slmmodel.data.open_source({own}.path, {own}.split); "
    moved = "{name: each.to('cuda') for name, each in batch.items()}, of a batch"
    return {
        **{name: f"{source}{form}" for name, form in _of_source("source").items()},
        **dict.fromkeys(("lengths", "n_docs", "ids"), f"{source}source.lengths(), source.n_docs or source.ids"),
        **dict.fromkeys(_INPUTS, f"{first}['input_ids']"),
        **dict.fromkeys(_LABELS, f"{first}['labels']"),
        **dict.fromkeys(_COLUMNS, f"{first}.keys()"),
        **dict.fromkeys(("tokenizer", "encode", "decode"), f"slmtok.load({own}.path)"),
        **dict.fromkeys(_SAVING, _IS_SAVED),
        **dict.fromkeys(_DEVICES, moved),
        **dict.fromkeys(("take", "select", "skip"), f"itertools.islice({own}, 10)"),
        "train_test_split": f"{own}.split is one of train and val: split='val' in place of it",
    }


_DATASET = _of_sequences("dataset", "dataset[0]")
_SHUFFLED = "leave it out: shuffle=True is the default where it is made, with seed=1 in another order"
OF_BLOCKS = _of_source("source")
OF_SOURCES = _of_data("source")
OF_DATA = {
    **_of_source("data.train"),
    **{name: form for name, form in _of_data("data").items() if name not in ("tokenizer",)},
    **dict.fromkeys(("lengths", "ids", "n_docs"), "data.train.lengths(), data.train.ids or data.train.n_docs"),
    **dict.fromkeys(_IDS, "data.n_train_ids"),
    **dict.fromkeys(("test", "validation", "valid"), "data.val"),
}
OF_DATASETS = {**_DATASET, "shuffle": _SHUFFLED}
OF_SHARD_LOADERS = {**_of_sequences("loader", "next(iter(loader))"), "shuffle": _SHUFFLED}
OF_LOADERS = {
    **dict.fromkeys((*_STEPS, *_CUTS, *_INPUTS, *_LABELS), _AS_LOADER),
    **dict.fromkeys((*_TEXTS, *_OFFSETS, "documents", "lengths", "ids"), "loader.document_block(0), its documents"),
}
OF_BATCHES = {
    **dict.fromkeys(_INPUTS, "batch.ids"),
    **dict.fromkeys(_LABELS, "batch.targets"),
    **dict.fromkeys(("attention_mask", "mask", "padding_mask"), "batch.document_ids >= 0, False at padding"),
    "loss_mask": "batch.target_mask",
    "cuda": "batch.to(torch.device('cuda'))",
    "cpu": "batch.to(torch.device('cpu'))",
    **dict.fromkeys(("keys", "items", "values"), "vars(batch)"),
    **dict.fromkeys(("shape", "size", "batch_size"), "batch.ids.shape"),
    **dict.fromkeys(_IDS, "batch.n_targets, the number of scored ids"),
}
OF_SAMPLES = {
    **dict.fromkeys((*_INPUTS, "token_ids", "sequences", "output_ids"), "sample.ids"),
    **dict.fromkeys(("text", "texts"), "tok.decode(sample.ids), by the tokenizer tok"),
    **dict.fromkeys(("finish_reason", "stop_reason"), "sample.reason"),
}
OF_RUN_FOLDERS = {
    **dict.fromkeys(_CALLS, "slmmodel.load(folder.path), which has the model"),
    **dict.fromkeys(("steps", "latest", "best"), "folder.checkpoints.list(), .newest() or .best()"),
    **dict.fromkeys(("save", "save_pretrained", "push_to_hub"), "slm export RUN -o NEW in a shell, for Hugging Face"),
}
OF_CHECKPOINTS = {
    **dict.fromkeys(("latest", "last"), "checkpoints.newest()"),
    **dict.fromkeys(("steps", "keys", "all"), "checkpoints.list()"),
    **dict.fromkeys((*_CALLS, "load", "restore"), "slmmodel.load(RUN, step=N), for a step of checkpoints.list()"),
    **dict.fromkeys(_SAVING, "slm export RUN --step N -o NEW in a shell, for Hugging Face"),
}


def explains_absent_names(names: Mapping[str, str]) -> Callable[[Class], Class]:
    """Decorates a class with the descriptors of names that it lacks. names: what stands for each, code or a remark."""

    def explain(name: str, owner: object | None, kind: type) -> str:
        what = f"type object {kind.__name__!r}" if owner is None else f"{kind.__name__!r} object"
        return f"{what} has no attribute {name!r}\n  fix:   {with_import(names[name])}"

    return adds_absent_names(names, explain)
