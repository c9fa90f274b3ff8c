"""`evaluate`: a run on documents, and the certificate of the result (docs/formats/certificate.md).

A certificate holds digests and sums instead of paths and dates, so the same weights on the same documents give the same
certificate, and anybody can compute it again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slmmodel.checks import check_report
from slmmodel.data.source import TokenSource, check_tokenizer
from slmmodel.errors import Argument, OptionError
from slmmodel.evaluation.comparison import interval, losses_to_bytes, units
from slmmodel.evaluation.scoring import Progress, Scores, check_stride, score
from slmmodel.files import sha256_of
from slmmodel.indexing import explains_indexing
from slmmodel.models import MODELS, arch_of, config_from_dict
from slmmodel.versions import versions

if TYPE_CHECKING:
    from slmmodel.checkpoint import RunFolder
    from slmmodel.models import ModelConfig

RELATIVE_TOLERANCE = 1e-6
"""Of sums of nats: rounding differs between machines."""
AUTOCAST = {"fp32": None, "bf16": "bfloat16", "fp16": "float16"}
_EXACT = ("model", "tokenizer", "documents", "scoring")
_COUNTS = ("documents", "bytes", "targets", "content_targets")
_NATS = ("nats_content", "nats_special")


@explains_indexing
class Evaluation(NamedTuple):
    """A certificate, and the scores it was made from."""

    certificate: dict[str, Any]
    scores: Scores

    def losses(self) -> bytes:
        """The content of a file of losses, for `slm compare`."""
        about = {key: self.certificate[key] for key in ("model", "tokenizer", "scoring")}
        return losses_to_bytes(self.scores, {**about, "documents": self.certificate["documents"]["digest"]})


def evaluate(
    run: RunFolder,
    source: TokenSource,
    *,
    seq_len: int | None = None,
    stride: int | None = None,
    seq_bytes: int | None = None,
    step: int | None = None,
    device: str = "cpu",
    precision: str = "fp32",
    stateful: bool = False,
    progress: Progress | None = None,
) -> Evaluation:
    """Scores all documents of a source with the final weights of a run, or those of a checkpoint (`step`).

    `seq_len` defaults to that of training. `seq_bytes` replaces it by the number of inputs that read as many bytes
    of this text, at most the seq_len of training, so that models with different tokenizers see equally much text.
    `stateful`: a model with a state of fixed size keeps it through each document.

    Raises what opening raises, `Mismatch` for ids of another tokenizer, `OptionError` for a seq_len above that of
    training where the architecture limits it, and what `Scores.check` raises.
    """
    check_report("progress", progress, "done, total")
    check_run(run, source, stateful)
    length = _resolve_seq_len(run, source, seq_len, seq_bytes)
    stride = check_stride(length, stride)
    scores = score(
        run.model(device, step=step),
        source,
        run.vocab,
        seq_len=length,
        stride=stride,
        device=device,
        autocast=AUTOCAST[precision],
        stateful=stateful,
        progress=progress,
    )
    content = certificate(
        scores,
        model={"weights": run.weights_digest(step), "arch": run.config["model"]["arch"]},
        tokenizer={"fingerprint": run.vocab.fingerprint, "file": run.tokenizer and sha256_of(run.tokenizer)},
        documents={
            "digest": source.documents_digest,
            "data": source.digest,
            "split": source.split,
            "frame": None if source.delimiters is None else source.delimiters.name,
            "bytes_from": source.bytes_from,
        },
        scoring={
            "seq_len": "unlimited" if stateful else length,
            "stride": None if stateful else stride,
            "positions": "reset",
            "precision": precision,
        },
        versions=versions(),
    )
    return Evaluation(content, scores)


def check_run(run: RunFolder, source: TokenSource, stateful: bool) -> None:
    """Raises `Mismatch` for documents of another tokenizer, `OptionError` for a model without a state to carry."""
    arch = run.config["model"]["arch"]
    check_tokenizer(source, run.vocab, run.path, run.tokenizer)
    if stateful and not arch_of(arch).config.unbounded:
        names = [name for name, entry in MODELS.items() if entry.config.unbounded]
        raise OptionError(
            f"the architecture {arch!r} has no state to carry through a document",
            limit=f"architectures with a state of fixed size: {', '.join(names)}",
            fix=("leave out ", Argument("stateful")),
            option="stateful",
        )


def check_seq_len(config: ModelConfig, seq_len: int | None) -> int:
    """The positions of a window, by default those of training. Raises `OptionError` where the model has fewer."""
    if seq_len is not None and not 1 <= seq_len <= config.max_context:
        limit = f"1 to {config.seq_len}, the seq_len of training"
        raise OptionError(
            f"seq_len {seq_len} is out of range",
            limit=f"{limit}: a {config.arch} has learned nothing of positions beyond it",
            fix=(Argument("seq_len", config.seq_len), ", or leave it out"),
            option="seq_len",
        )
    return seq_len or config.seq_len


def _resolve_seq_len(run: RunFolder, source: TokenSource, seq_len: int | None, seq_bytes: int | None) -> int:
    trained = int(run.config["model"]["seq_len"])
    if seq_bytes is not None:
        block = source.block(0)
        # Inputs of a document are all ids but the last; that whose target is the closing id is not counted.
        n_inputs = int((block.lengths() - 2).clip(min=0).sum())
        return max(1, min(trained, seq_bytes * n_inputs // max(1, int(block.nbytes().sum()))))
    return check_seq_len(config_from_dict(run.config["model"]), seq_len)


def certificate(scores: Scores, **sections: Mapping[str, object]) -> dict[str, Any]:
    """The payload of a certificate; `sections` are `model`, `tokenizer`, `documents`, `scoring` and `versions`.

    Raises what `Scores.check` raises.
    """
    scores.check()
    found, content_targets = interval(units(scores)), int(np.count_nonzero(scores.nbytes))
    # The mean loss depends on the tokenizer and is not comparable between tokenizers.
    nats_per_target = (scores.sum_content_nats + scores.sum_special_nats) / max(1, scores.n_targets)
    return {
        "bpb_total": scores.bpb_total,
        "bpb_content": scores.bpb_content,
        "interval": None if found is None else {**found._asdict(), "of": "bpb_total", "method": "bootstrap percentile"},
        "sums": {
            "documents": scores.n_docs,
            "bytes": scores.n_bytes,
            "targets": scores.n_targets,
            "content_targets": content_targets,
            "nats_content": scores.sum_content_nats,
            "nats_special": scores.sum_special_nats,
        },
        "conversions": {
            "nats_per_target": nats_per_target,
            "perplexity_per_target": math.exp(min(nats_per_target, 700)),
            "perplexity_per_byte": 2 ** min(scores.bpb_total, 1000),
            "bytes_per_target": scores.n_bytes / max(1, content_targets),
        },
        **sections,
    }


def differences(stated: Mapping[str, Any], computed: Mapping[str, Any]) -> list[str]:
    """Where a stated certificate differs from one that was just computed; empty where it is confirmed.

    Both bits per byte are among the values, so a certificate that contradicts its own sums differs.
    """
    found = []
    for name in ("bpb_content", "bpb_total"):
        if not _close(stated.get(name), computed[name]):
            found.append(f"{name} is {stated.get(name)}; computed {computed[name]:.6f}")
    for section in (*_EXACT, "sums"):
        for key in sorted({**stated[section], **computed[section]}):
            theirs, ours = stated[section].get(key), computed[section].get(key)
            if not (_close(theirs, ours) if key in _NATS else theirs == ours):
                found.append(f"{section}.{key} is {_short(theirs)}; computed {_short(ours)}")
    return found


def _close(a: object, b: object) -> bool:
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return a is b
    return a == b or math.isclose(a, b, rel_tol=RELATIVE_TOLERANCE)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:16]}…"
