"""What a run, or packed data, feeds to a model: the loader with the settings of training, and the tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmmodel.errors import InvalidOption

if TYPE_CHECKING:
    from slmmodel.data.loader import Loader
    from slmmodel.vocab import VocabMeta

SEQ_LEN, BATCH_SIZE = 128, 16


@dataclass(frozen=True)
class Feeding:
    """How rows are made. None leaves a setting to the run, or to its default."""

    seq_len: int | None = None
    batch_size: int | None = None
    pack: str | None = None
    positions: str | None = None
    seed: int | None = None


def loader_of(path: str, split: str, asked: Feeding) -> tuple[Loader, VocabMeta, Path | None]:
    """The loader of a run (as it trains) or of packed data, the vocabulary, and the tokenizer file where there is one.

    Raises what opening raises, and `InvalidOption` for settings that a run has fixed.
    """
    from slmmodel.data.loader import Loader
    from slmmodel.data.opening import open_source

    folder = Path(path)
    if (folder / "config.yaml").is_file():
        return _of_run(folder, split, asked)
    source = open_source(folder, split)
    loader = Loader(
        source,
        source.vocab,
        seq_len=SEQ_LEN if asked.seq_len is None else asked.seq_len,
        batch_size=BATCH_SIZE if asked.batch_size is None else asked.batch_size,
        pack=asked.pack or "concat",
        positions=asked.positions,
        seed=asked.seed or 0,
    )
    tokenizer = (folder if folder.is_dir() else folder.parent) / "tok.json"
    return loader, source.vocab, tokenizer if tokenizer.is_file() else None


def _of_run(folder: Path, split: str, asked: Feeding) -> tuple[Loader, VocabMeta, Path | None]:
    from slmmodel.checkpoint import RunFolder
    from slmmodel.cli._raw import open_any
    from slmmodel.data.loader import Loader

    for name, value in vars(asked).items():
        if value is not None:
            raise InvalidOption(
                f"--{name.replace('_', '-')} cannot be chosen for a run",
                where=str(folder),
                limit="a run has fixed how its rows are made",
                fix="leave it out, or name the data instead of the run",
                option=f"--{name}",
            )
    bundle = RunFolder.open(folder)
    data, run, model = (bundle.config[section] for section in ("data", "run", "model"))
    seq_len = int(model["seq_len"])
    options: dict[str, Any] = dict(data.get("options") or {})
    if data.get("loss_on", "all") != "all":
        options["loss_on"] = data["loss_on"]
    positions = data.get("positions", "auto")
    loader = Loader(
        open_any(data["train"], split, bundle.vocab, bundle.tokenizer),
        bundle.vocab,
        seq_len=seq_len,
        batch_size=max(1, int(run["batch_tokens"]) // seq_len),
        pack=data["pack"],
        positions=None if positions == "auto" else positions,
        shuffle=data.get("shuffle", "documents") == "documents",
        crop_offset=data.get("crop_offset", "fixed"),
        seed=int(run["seed"]),
        **options,
    )
    return loader, bundle.vocab, bundle.tokenizer
