"""`evaluate`: a run on documents, from the bundle and packed data to a certificate.

The context is the one of training where none is given; `context_bytes` asks for the number of pairs that read as many
bytes of this very text, which is what makes models with different tokenizers see the same, capped by that of training.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from slmmodel.bundle import files
from slmmodel.data.source import TokenSource
from slmmodel.errors import FingerprintMismatch, InvalidOption
from slmmodel.evaluation.bpb import score
from slmmodel.evaluation.certificate import certificate
from slmmodel.evaluation.scores import Scores
from slmmodel.evaluation.windows import check_stride
from slmmodel.models import MODELS
from slmmodel.versions import versions

if TYPE_CHECKING:
    from slmmodel.bundle import Bundle

AUTOCAST = {"fp32": None, "bf16": "bfloat16", "fp16": "float16"}


class Evaluation(NamedTuple):
    """A certificate, and the scores behind it."""

    certificate: dict[str, Any]
    scores: Scores


def context_for_bytes(source: TokenSource, context_bytes: int, most: int) -> int:
    """Pairs that read about `context_bytes` bytes of this text: `floor(context_bytes / (bytes / pairs))`, at most
    `most`, at least 1. A closing id is no pair of text."""
    block = source.block(0)
    pairs = int((block.lengths() - 2).clip(min=0).sum())
    nbytes = int(block.nbytes().sum())
    return max(1, min(most, context_bytes * pairs // max(1, nbytes)))


def evaluate(
    bundle: Bundle,
    source: TokenSource,
    *,
    context: int | None = None,
    stride: int | None = None,
    context_bytes: int | None = None,
    step: int | None = None,
    device: str = "cpu",
    precision: str = "fp32",
    carry: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Scores all documents of a source with the weights of a run (of its end, or of `step`). `carry`: a recurrent model
    keeps its state through each document.

    Raises what opening raises, `FingerprintMismatch` for ids of another tokenizer, `InvalidOption` for a context that
    the model was not trained with, `BytesDisagree` where there is nothing to certify.
    """
    import torch

    vocab = bundle.vocab
    _check_tokenizer(bundle, source)
    chosen = _context(bundle, source, context, context_bytes)
    stride = check_stride(chosen, stride)
    kind_of_model = _kind(bundle, carry)
    model = bundle.model(device, step=step)
    kind = AUTOCAST[precision]
    autocast = None if kind is None else getattr(torch, kind)
    scores = score(
        model,
        source,
        vocab,
        context=chosen,
        stride=stride,
        device=device,
        autocast=autocast,
        carry=carry,
        progress=progress,
    )
    windows: dict[str, object] = {"context": chosen, "stride": stride, "positions": "reset", "precision": precision}
    if carry:
        windows |= {"context": "unlimited", "stride": None}
    stated = certificate(
        scores,
        model={"weights": files.digest(bundle.weights(step)), "kind": kind_of_model},
        tokenizer={
            "fingerprint": vocab.fingerprint,
            "file": None if bundle.tokenizer is None else files.digest(bundle.tokenizer),
        },
        documents=described(source),
        scoring=windows,
        versions=versions(),
    )
    return Evaluation(stated, scores)


def _check_tokenizer(bundle: Bundle, source: TokenSource) -> None:
    theirs = getattr(source, "vocab", None)
    if theirs is not None and theirs.fingerprint != bundle.vocab.fingerprint:
        raise FingerprintMismatch(
            "the data was made with another tokenizer than the model",
            where=str(bundle.path),
            limit=f"fingerprints {theirs.fingerprint[:16]}… and {bundle.vocab.fingerprint[:16]}…",
            fix="pack the text with the tokenizer of the run: slmtok pack CORPUS -t RUN/tok.json -o DATA",
        )


def _kind(bundle: Bundle, carry: bool) -> str:
    kind_of_model = str(bundle.config["model"].get("arch", ""))
    if carry and not MODELS[kind_of_model].recurrent:
        raise InvalidOption(
            f"a {kind_of_model!r} has no state to carry through a document",
            limit=f"recurrent models: {', '.join(name for name, line in MODELS.items() if line.recurrent)}",
            fix="leave out --carry",
            option="carry",
        )
    return kind_of_model


def described(source: TokenSource) -> dict[str, object]:
    """The documents of a source, in a certificate: digests, frame, and where their bytes come from."""
    frame = getattr(source, "frame", None)
    return {
        "digest": getattr(source, "documents_digest", None),
        "data": source.digest,
        "split": getattr(source, "split", None),
        "frame": None if frame is None else frame.name,
        "bytes_from": getattr(source, "bytes_from", "source"),
    }


def _context(bundle: Bundle, source: TokenSource, context: int | None, context_bytes: int | None) -> int:
    trained = int(bundle.config["model"]["seq_len"])
    if context is not None and context_bytes is not None:
        raise InvalidOption(
            "--context and --context-bytes contradict each other", fix="give one of them", option="context"
        )
    if context_bytes is not None:
        return context_for_bytes(source, context_bytes, trained)
    if context is not None and not 1 <= context <= trained:
        raise InvalidOption(
            f"a context of {context} is out of range",
            limit=f"1 to {trained}, the context of training",
            fix="leave it out",
            option="context",
        )
    return context or trained
