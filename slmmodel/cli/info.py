"""`slm info`: what is in a run, a preset or a vocab.json. Parameters, embedding share, operations, a diagram."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slmmodel.cli import _options, _output
from slmmodel.cli._tables import Row, print_rows

if TYPE_CHECKING:
    from slmmodel.models import ModelConfig
    from slmmodel.vocab import VocabMeta

_What = Annotated[
    str,
    typer.Argument(
        metavar="RUN|PRESET|FILE",
        help="A run, the name of a preset (presets lists them), or a vocab.json.",
        show_default=False,
    ),
]
_Diagram = Annotated[
    bool, typer.Option("--diagram", help="The model as a flowchart in Mermaid, with dimensions and the recurrence.")
]


def info(
    what: _What,
    diagram: _Diagram = False,
    as_json: _options.Json = False,
    quiet: _options.Quiet = False,
    show_traceback: _options.Traceback = False,
) -> _output.Outcome:
    """Say what a run, a preset or a vocab.json is made of."""
    from slmmodel.models.presets import PRESETS, preset

    if what == "presets":
        return _table()
    path = Path(what)
    if path.is_dir():
        return _run(what, diagram)
    if not path.exists() and (what in PRESETS or not path.suffix):
        chosen = preset(what)
        config = chosen.config()
        more: dict[str, Any] = {
            "batch_tokens": chosen.batch_tokens,
            "tokens": chosen.tokens,
            "optim": dict(chosen.optim),
        }
        rows = [("step", f"{chosen.batch_tokens:,} tokens"), ("run", f"{chosen.tokens:,} tokens")]
        rows.append(("optimizer", f"{chosen.optim['name']}, learning rate {chosen.optim['lr']:g}"))
        return _model(what, config, diagram, more, rows)
    return _vocab(what)


def _run(what: str, diagram: bool) -> _output.Outcome:
    from slmmodel.checkpoint import RunFolder
    from slmmodel.models import ModelConfig

    bundle = RunFolder.open(what)
    config = ModelConfig.from_dict(bundle.config["model"])
    vocab = bundle.vocab
    result = bundle.result
    rows = [
        ("state", "finished" if bundle.finished else f"unfinished, saved steps {bundle.checkpoints.list() or 'none'}"),
        ("tokenizer", f"{vocab.fingerprint}{'' if bundle.tokenizer else ' (no tokenizer file)'}"),
        ("data", str(bundle.fingerprint.get("data", ""))),
    ]
    more: dict[str, Any] = {"finished": bundle.finished, "fingerprint": bundle.fingerprint, "outcome": result}
    more["vocab"] = _vocab_result(what, vocab)
    return _model(what, config, diagram, more, rows)


def _model(title: str, config: ModelConfig, diagram: bool, more: dict[str, Any], rows: list[Row]) -> _output.Outcome:
    from slmmodel.export import exports as exports_of
    from slmmodel.models import count

    counts = count(config)
    exports = exports_of(config)
    result: dict[str, Any] = {
        "path": title,
        "model": config.to_dict(),
        "parameters": counts.parameters,
        "embedding": counts.embedding,
        "embedding_share": counts.embedding_share,
        "flops_per_token": counts.flops_per_token,
        "exports": exports,
        **more,
    }
    if diagram:
        text = config.diagram()
        return _output.Outcome({**result, "diagram": text}, lambda: _write(text))
    parts = [f"{key} {value}" for key, value in config.to_dict().items() if value is not None]
    shape = "\n".join("  ".join(parts[at : at + 6]) for at in range(0, len(parts), 6))
    head: list[Row] = [
        ("model", shape),
        ("parameters", f"{counts.parameters:,}"),
        ("embeddings", f"{100 * counts.embedding_share:.1f} % of them; 8-15 % is usual near the optimum"),
        ("operations", f"{counts.flops_per_token:,} a token, forward and backward"),
        ("exports", "  ".join(f"{name}: {value}" for name, value in exports.items())),
    ]
    return _output.Outcome(result, lambda: print_rows([*head, *rows], title=title))


def _table() -> _output.Outcome:
    from slmmodel.models import count
    from slmmodel.models.presets import PRESETS

    rows, result = [], {}
    for name, chosen in PRESETS.items():
        counts = count(chosen.config())
        share = 100 * counts.embedding_share
        result[name] = {"parameters": counts.parameters, "embedding_share": counts.embedding_share}
        result[name] |= {"flops_per_token": counts.flops_per_token, "n_vocab": chosen.n_vocab}
        text = (
            f"{counts.parameters:>12,} parameters, {share:4.1f} % embeddings, {counts.flops_per_token:.2g} operations"
        )
        rows.append((name, f"{text} a token, {chosen.n_vocab:,} ids, seq_len {chosen.seq_len}"))
    return _output.Outcome({"presets": result}, lambda: print_rows(rows))


def _vocab(file: str) -> _output.Outcome:
    from slmmodel.vocab import VocabMeta

    vocab = VocabMeta.load(file)
    result = _vocab_result(file, vocab)
    rows = [
        ("ids", f"{vocab.n_vocab:,}, padded {vocab.padded_vocab:,}"),
        ("specials", "  ".join(f"{id} {role}" for role, id in vocab.specials.items())),
        ("tokens", f"{result['mean_token']} bytes on average, {result['longest_token']} at most"),
        ("fingerprint", vocab.fingerprint),
    ]
    return _output.Outcome(result, lambda: print_rows(rows, title=file))


def _vocab_result(file: str, vocab: VocabMeta) -> dict[str, object]:
    lengths = vocab.token_nbytes
    return {
        "path": file,
        "n_vocab": vocab.n_vocab,
        "padded_vocab": vocab.padded_vocab,
        "specials": dict(vocab.specials),
        "longest_token": int(lengths.max()),
        "mean_token": round(float(lengths[lengths > 0].mean()), 3),
        "fingerprint": vocab.fingerprint,
    }


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
