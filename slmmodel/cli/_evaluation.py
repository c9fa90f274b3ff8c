"""The steps of `slm eval`: what is evaluated, on what, what stands beside it, and where the proof is written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slmmodel.cli import _output
from slmmodel.cli._progress import Progress
from slmmodel.cli._tables import print_rows
from slmmodel.errors import InvalidOption, MissingShards

if TYPE_CHECKING:
    from slmmodel.checkpoint import RunFolder
    from slmmodel.cli._raw import TextSource
    from slmmodel.data.opening import FileSource
    from slmmodel.evaluation.certificate import Evaluation
    from slmmodel.evaluation.scoring import Scores


class Asked(NamedTuple):
    """The options that say what is scored and how."""

    on: str | None
    split: str | None
    seq_len: int | None
    context_bytes: int | None
    stride: int | None
    step: int | None
    precision: str
    device: str
    quiet: bool
    stateful: bool = False


def run_of(run: str | None, check: str | None) -> str:
    """The run, or that in whose folder `eval` a certificate lies. Raises `InvalidOption`."""
    if run is not None:
        return run
    if check is not None and Path(check).resolve().parent.name == "eval":
        return str(Path(check).resolve().parents[1])
    raise InvalidOption("no run was named", fix="slm eval RUN", option="run")


def source_of(bundle: RunFolder, asked: Asked) -> FileSource | TextSource:
    """The documents: of `--on`, or the validation documents of training. Raises what opening raises."""
    from slmmodel.cli._raw import open_any

    data = bundle.config["data"]
    val = data.get("val", "auto")
    path = asked.on or (data["train"] if val in ("auto", "none") else val)
    if asked.on is None and not path.startswith("hf:") and not Path(path).exists():
        raise MissingShards(
            f"the data of the run are not at {path!r} any more",
            where=str(bundle.path),
            fix="name them: --on DATA",
            path=path,
        )
    if asked.split is not None:
        return open_any(path, asked.split, bundle.vocab, bundle.tokenizer)
    try:
        return open_any(path, "val", bundle.vocab, bundle.tokenizer)
    except MissingShards:
        if asked.on is None and val in ("auto", "none"):
            raise
        return open_any(path, "train", bundle.vocab, bundle.tokenizer)


def evaluated(bundle: RunFolder, source: FileSource | TextSource, asked: Asked) -> Evaluation:
    """Scores and certificate."""
    from slmmodel.evaluation.certificate import evaluate
    from slmmodel.hardware import device_for

    with Progress(quiet=asked.quiet) as progress:
        return evaluate(
            bundle,
            source,
            seq_len=asked.seq_len,
            stride=asked.stride,
            context_bytes=asked.context_bytes,
            step=asked.step,
            device=str(device_for(asked.device)),
            precision=asked.precision,
            stateful=asked.stateful,
            progress=lambda done, total: progress("scoring", done, total),
        )


def checked(bundle: RunFolder, path: str, asked: Asked) -> _output.Outcome:
    """Computes a certificate again, with its own settings, and says where it differs: status 3."""
    from slmmodel.evaluation.certificate import differences, read_certificate

    stated = read_certificate(path)
    scoring, documents = stated["scoring"], stated["documents"]
    again = asked._replace(
        split=asked.split or documents.get("split"),
        seq_len=None if scoring.get("seq_len") == "unlimited" else scoring.get("seq_len"),
        stateful=scoring.get("seq_len") == "unlimited",
        context_bytes=None,
        stride=scoring.get("stride"),
        precision=scoring.get("precision", "fp32"),
    )
    found = evaluated(bundle, source_of(bundle, again), again)
    wrong = differences(stated, found.certificate)
    result = {
        "path": path,
        "proven": not wrong,
        "differences": wrong,
        "bpb_total": found.certificate["bpb_total"],
        "bpb_content": found.certificate["bpb_content"],
    }

    def show() -> None:
        rows = [("bpb_total", f"{result['bpb_total']:.4f}"), ("differs", "\n".join(wrong))]
        print_rows(rows, title=f"{path}: {'not proven' if wrong else 'proven'}")

    return _output.Outcome(result, show, code=_output.ANSWER_NO if wrong else _output.DONE)


def beside(bundle: RunFolder, source: FileSource | TextSource, asked: Asked) -> dict[str, Any] | None:
    """Baselines on the same bytes; None where there is no tokenizer to read them with."""
    from slmmodel.cli._baselines import baselines_of
    from slmmodel.cli._raw import open_any

    if bundle.tokenizer is None:
        return None
    try:
        train = open_any(bundle.config["data"]["train"], "train", bundle.vocab, bundle.tokenizer)
    except MissingShards:
        return None
    with Progress(quiet=asked.quiet) as progress:
        progress("baselines", 0, 0)
        return baselines_of(bundle.tokenizer, bundle.vocab, train, source)


def broken_down(bundle: RunFolder, source: FileSource | TextSource, scores: Scores) -> dict[str, Any]:
    """Tables of where the bits go."""
    from slmmodel.cli._raw import open_any
    from slmmodel.evaluation import breakdown

    tables: dict[str, Any] = {
        "by_bytes": breakdown.by_bytes(scores),
        "by_position": breakdown.by_position(scores),
        "worst_documents": breakdown.worst_documents(scores),
    }
    try:
        train = open_any(bundle.config["data"]["train"], "train", bundle.vocab, bundle.tokenizer)
        counts = breakdown.target_counts(train.block(0), bundle.vocab.n_vocab)
        tables["by_frequency"] = breakdown.by_frequency(scores, counts)
    except MissingShards:
        pass
    domains = source.domains()
    if domains is not None:
        tables["by_domain"] = breakdown.by_domain(
            scores, domains, list(getattr(source, "manifest", {}).get("domains", []))
        )
    return tables


def write(
    bundle: RunFolder,
    source: FileSource | TextSource,
    asked: Asked,
    found: Evaluation,
    result: dict[str, Any],
    certificate: str | None,
    losses: str | None,
) -> dict[str, str]:
    """Writes certificate and losses, whole or not at all; returns where."""
    from slmmodel.checkpoint import write_file
    from slmmodel.evaluation.certificate import to_envelope
    from slmmodel.evaluation.comparison import losses_to_bytes

    parts = [] if asked.on is None else [Path(asked.on).stem if Path(asked.on).is_file() else Path(asked.on).name]
    name = "-".join([*parts, *([source.split] if source.split else [])]) or "data"
    path = Path(certificate) if certificate is not None else bundle.path / "eval" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, to_envelope(result))
    written = {"certificate": str(path)}
    if losses is not None:
        about = {key: found.certificate[key] for key in ("model", "tokenizer", "scoring")}
        digest = found.certificate["documents"]["digest"]
        write_file(Path(losses), losses_to_bytes(found.scores, {"documents": digest, **about}))
        written["losses"] = losses
    return written


def show(result: dict[str, Any]) -> None:
    """The table for people, and one plain sentence where counting does better than the model."""
    sums, scoring, found = result["sums"], result["scoring"], result["interval"]
    between = "not available: fewer than 20 documents or 4 KiB segments"
    if found is not None:
        between = (
            f"{found['low']:.4f} to {found['high']:.4f} ({found['level']:.0%}, {found['n_units']:,} x {found['unit']})"
        )
    conversions = result["conversions"]
    derived = result["documents"]["bytes_from"] == "derived"
    print_rows(
        [
            ("bpb_total", f"{result['bpb_total']:.4f}   every byte and every </s>: the number to rank by"),
            ("bpb_content", f"{result['bpb_content']:.4f}   without </s>"),
            ("interval", between),
            (
                "scored",
                f"{sums['bytes']:,} bytes of {sums['documents']:,} documents, {sums['targets']:,} ids, each once",
            ),
            ("bytes", "derived from the ids: the identity is true by construction" if derived else ""),
            ("windows", f"seq_len {scoring['seq_len']}, stride {scoring['stride'] or 'none'}, {scoring['precision']}"),
            (
                "per id",
                f"{conversions['nats_per_target']:.4f} nats, perplexity {conversions['perplexity_per_target']:.2f}, "
                f"{conversions['bytes_per_target']:.3f} bytes on this text",
            ),
            ("baselines", _baseline_lines(result["baselines"]) if result["baselines"] else ""),
            *((table, _table(rows)) for table, rows in result.get("breakdown", {}).items()),
            ("certificate", result["written"]["certificate"]),
            ("losses", result["written"].get("losses", "")),
        ]
    )
    sentence = _sentence(result)
    if sentence:
        sys.stdout.write(sentence + "\n")


def _baseline_lines(lines: dict[str, Any]) -> str:
    grams = "  ".join(f"{order}: {bits:.3f}" for order, bits in lines["ngram"].items())
    used = lines["train_bytes"]
    first = f", of the first {used:,} bytes" if used < lines["train_bytes_all"] else ""
    packers = [
        f"{name}: {lines[name]['after_train']:.3f} after the training text, {lines[name]['alone']:.3f} alone"
        for name in ("bz2", "xz")
    ]
    return "\n".join([f"byte n-grams by order{first}: {grams}", *packers])


def _table(rows: list[dict[str, Any]]) -> str:
    def value(item: object) -> str:
        return f"{item:.4f}" if isinstance(item, float) else str(item)

    return "\n".join("  ".join(f"{key} {value(item)}" for key, item in row.items()) for row in rows)


def _sentence(result: dict[str, Any]) -> str:
    from slmmodel.cli._baselines import best_ngram

    if not result["baselines"]:
        return ""
    order, bits = best_ngram(result["baselines"])
    if result["bpb_total"] < bits:
        return ""
    return (
        f"The model does not beat a byte {order}-gram, which needs {bits:.4f} bits per byte: train longer, or larger."
    )
