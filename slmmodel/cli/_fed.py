"""What a run, or packed data, feeds to a model: the loader with the settings of training, and the tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slmmodel.errors import InvalidOption

if TYPE_CHECKING:
    from slmmodel.data.loader import Loader
    from slmmodel.vocab import VocabMeta

CONTEXT, ROWS = 128, 16


@dataclass(frozen=True)
class Feeding:
    """How rows are made. None leaves a setting to the run, or to its default."""

    context: int | None = None
    rows: int | None = None
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
        context=CONTEXT if asked.context is None else asked.context,
        rows_per_step=ROWS if asked.rows is None else asked.rows,
        pack=asked.pack or "concat",
        positions=asked.positions,
        seed=asked.seed or 0,
    )
    tokenizer = (folder if folder.is_dir() else folder.parent) / "tok.json"
    return loader, source.vocab, tokenizer if tokenizer.is_file() else None


def _of_run(folder: Path, split: str, asked: Feeding) -> tuple[Loader, VocabMeta, Path | None]:
    from slmmodel.bundle import Bundle
    from slmmodel.cli._raw import open_any
    from slmmodel.data.loader import Loader

    for name, value in vars(asked).items():
        if value is not None:
            raise InvalidOption(
                f"--{name} cannot be chosen for a run",
                where=str(folder),
                limit="a run has fixed how its rows are made",
                fix="leave it out, or name the data instead of the run",
                option=f"--{name}",
            )
    bundle = Bundle.open(folder)
    data, run, model = (bundle.config[section] for section in ("data", "run", "model"))
    context = int(model["seq_len"])
    options: dict[str, Any] = dict(data.get("options") or {})
    if data.get("loss_on", "all") != "all":
        options["loss_on"] = data["loss_on"]
    positions = data.get("positions", "auto")
    loader = Loader(
        open_any(data["train"], split, bundle.vocab, bundle.tokenizer),
        bundle.vocab,
        context=context,
        rows_per_step=max(1, int(run["batch_tokens"]) // context),
        pack=data["pack"],
        positions=None if positions == "auto" else positions,
        shuffle=data.get("shuffle", "documents") == "documents",
        cuts=data.get("cuts", "fixed"),
        seed=int(run["seed"]),
        **options,
    )
    return loader, bundle.vocab, bundle.tokenizer
