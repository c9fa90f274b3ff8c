"""`evaluate`: a run on documents, and the certificate of the result (docs/formats/certificate.md).

A certificate holds digests and sums instead of paths and dates, so the same weights on the same documents give the same
certificate, and anybody can compute it again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slmmodel.checkpoint import sha256_of, weights_digest
from slmmodel.data.source import TokenSource
from slmmodel.errors import CorruptFile, Mismatch, MissingInput, OptionError
from slmmodel.evaluation.comparison import interval, units
from slmmodel.evaluation.scoring import LN2, Progress, Scores, check_stride, score
from slmmodel.models import MODELS, arch_of
from slmmodel.versions import package_version, versions

if TYPE_CHECKING:
    from slmmodel.checkpoint import RunFolder

KIND, VERSION = "certificate", 2
RELATIVE_TOLERANCE = 1e-6
"""Of sums of nats: rounding differs between machines."""
AUTOCAST = {"fp32": None, "bf16": "bfloat16", "fp16": "float16"}
_KEYS = {"kind", "version", "tool", "inputs", "payload", "sha256"}
_EXACT = ("model", "tokenizer", "documents", "scoring")
_COUNTS = ("documents", "bytes", "targets", "content_targets")
_NATS = ("nats_content", "nats_special")


class Evaluation(NamedTuple):
    """A certificate, and the scores it was made from."""

    certificate: dict[str, Any]
    scores: Scores


def evaluate(
    run: RunFolder,
    source: TokenSource,
    *,
    seq_len: int | None = None,
    stride: int | None = None,
    context_bytes: int | None = None,
    step: int | None = None,
    device: str = "cpu",
    precision: str = "fp32",
    stateful: bool = False,
    progress: Progress | None = None,
) -> Evaluation:
    """Scores all documents of a source with the final weights of a run, or those of a checkpoint (`step`).

    `seq_len` defaults to that of training. `context_bytes` instead takes the number of pairs that read as many bytes of
    this text, at most the seq_len of training, so that models with different tokenizers see equally much text.
    `stateful`: a recurrent model keeps its state through each document.

    Raises what opening raises, `Mismatch` for ids of another tokenizer, `OptionError` for a seq_len the
    model was not trained with, `BytesDisagree` where there is nothing to certify.
    """
    import torch

    vocab = run.vocab
    _check_tokenizer(run, source)
    length = _resolve_seq_len(run, source, seq_len, context_bytes)
    stride = check_stride(length, stride)
    arch = _architecture(run, stateful)
    short = AUTOCAST[precision]
    scores = score(
        run.model(device, step=step),
        source,
        vocab,
        seq_len=length,
        stride=stride,
        device=device,
        autocast=None if short is None else getattr(torch, short),
        stateful=stateful,
        progress=progress,
    )
    scoring = {"seq_len": length, "stride": stride, "positions": "reset", "precision": precision}
    content = certificate(
        scores,
        model={"weights": weights_digest(run.weights(step)), "arch": arch},
        tokenizer={
            "fingerprint": vocab.fingerprint,
            "file": None if run.tokenizer is None else sha256_of(run.tokenizer),
        },
        documents=describe_source(source),
        scoring={**scoring, "seq_len": "unlimited", "stride": None} if stateful else scoring,
        versions=versions(),
    )
    return Evaluation(content, scores)


def _check_tokenizer(run: RunFolder, source: TokenSource) -> None:
    theirs = source.vocab
    if theirs is not None and theirs.fingerprint != run.vocab.fingerprint:
        raise Mismatch(
            "the data were made with another tokenizer than the model",
            where=str(run.path),
            limit=f"fingerprints {theirs.fingerprint[:16]}… and {run.vocab.fingerprint[:16]}…",
            fix="pack the text with the tokenizer of the run: slmtok pack CORPUS -t RUN/tok.json -o DATA",
        )


def _architecture(run: RunFolder, stateful: bool) -> str:
    arch = str(run.config["model"].get("arch", ""))
    if stateful and not arch_of(arch).recurrent:
        raise OptionError(
            f"the architecture {arch!r} has no state to carry through a document",
            limit=f"recurrent architectures: {', '.join(name for name, line in MODELS.items() if line.recurrent)}",
            fix="leave out --stateful",
            option="stateful",
        )
    return arch


def _resolve_seq_len(run: RunFolder, source: TokenSource, seq_len: int | None, context_bytes: int | None) -> int:
    trained = int(run.config["model"]["seq_len"])
    if seq_len is not None and context_bytes is not None:
        raise OptionError("--seq-len and --context-bytes exclude each other", fix="give one of them", option="seq_len")
    if context_bytes is not None:
        return seq_len_for_bytes(source, context_bytes, trained)
    if seq_len is not None and not 1 <= seq_len <= trained:
        raise OptionError(
            f"seq_len {seq_len} is out of range",
            limit=f"1 to {trained}, the seq_len of training",
            fix="leave it out",
            option="seq_len",
        )
    return seq_len or trained


def seq_len_for_bytes(source: TokenSource, context_bytes: int, most: int) -> int:
    """Pairs that read about `context_bytes` bytes of this text, 1 to `most`; closing ids are not counted."""
    block = source.block(0)
    pairs = int((block.lengths() - 2).clip(min=0).sum())
    return max(1, min(most, context_bytes * pairs // max(1, int(block.nbytes().sum()))))


def describe_source(source: TokenSource) -> dict[str, object]:
    """The documents of a source in a certificate: digests, stored delimiters, and the origin of their byte counts."""
    return {
        "digest": source.documents_digest,
        "data": source.digest,
        "split": source.split,
        "frame": None if source.frame is None else source.frame.name,
        "bytes_from": source.bytes_from,
    }


def certificate(
    scores: Scores,
    *,
    model: Mapping[str, object],
    tokenizer: Mapping[str, object],
    documents: Mapping[str, object],
    scoring: Mapping[str, object],
    versions: Mapping[str, object],
) -> dict[str, Any]:
    """The payload of a certificate. Raises `BytesDisagree` where the scores do not account for every byte."""
    scores.check_bytes()
    found = interval(units(scores))
    return {
        "bpb_total": scores.bpb_total,
        "bpb_content": scores.bpb_content,
        "interval": None if found is None else {**found._asdict(), "of": "bpb_total", "method": "bootstrap percentile"},
        "sums": {
            "documents": scores.n_docs,
            "bytes": scores.n_bytes,
            "targets": scores.n_targets,
            "content_targets": int((scores.nbytes > 0).sum()),
            "nats_content": scores.nats_content,
            "nats_special": scores.nats_special,
        },
        "conversions": {
            "nats_per_target": scores.nats_per_target,
            "perplexity_per_target": math.exp(min(scores.nats_per_target, 700)),
            "perplexity_per_byte": 2 ** min(scores.bpb_total, 1000),
            "bytes_per_target": scores.bytes_per_content_target,
        },
        "model": dict(model),
        "tokenizer": dict(tokenizer),
        "documents": dict(documents),
        "scoring": dict(scoring),
        "versions": dict(versions),
    }


def to_envelope(payload: Mapping[str, Any]) -> bytes:
    """The file of a certificate: an envelope of version 2 (docs/formats/envelope.md). Infinite numbers become null."""
    content: dict[str, Any] = _finite(
        {
            "kind": KIND,
            "version": VERSION,
            "tool": f"slmmodel {package_version()}",
            "inputs": _inputs(payload),
            "payload": dict(payload),
        }
    )
    content["sha256"] = _envelope_digest(content)
    return (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _inputs(payload: Mapping[str, Any]) -> dict[str, Any]:
    documents, tokenizer = payload["documents"], payload["tokenizer"]
    return {
        "weights": payload["model"].get("weights"),
        "tokenizer": tokenizer.get("fingerprint"),
        "documents": documents.get("digest"),
        "data": documents.get("data"),
    }


def _envelope_digest(content: Mapping[str, Any]) -> str:
    plain = {key: value for key, value in content.items() if key != "sha256"}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def read_certificate(path: str | Path) -> dict[str, Any]:
    """The payload of a certificate. Raises `MissingInput`, `CorruptFile`."""
    try:
        content = json.loads(Path(path).read_bytes(), object_pairs_hook=_unique_keys)
    except OSError as error:
        raise MissingInput(
            f"cannot read {str(path)!r}: {error.strerror}", fix="slm eval RUN writes one into RUN/eval", path=str(path)
        ) from error
    except (ValueError, RecursionError) as error:
        raise _corrupt(path, f"is not JSON ({error})") from None
    if isinstance(content, dict) and content.get("version") != VERSION:
        raise _corrupt(path, f"is a certificate of version {content.get('version')}; this package reads {VERSION}")
    if not isinstance(content, dict) or content.get("kind") != KIND or set(content) != _KEYS:
        raise _corrupt(path, f"is not an envelope of kind {KIND!r} with the keys {', '.join(sorted(_KEYS))}")
    if content["sha256"] != _envelope_digest(content):
        raise _corrupt(path, "differs from its sha256")
    payload: dict[str, Any] = content["payload"]
    sums = payload.get("sums")
    if not isinstance(sums, dict) or not all(isinstance(sums.get(key), (int, float)) for key in _COUNTS + _NATS):
        raise _corrupt(path, "lacks one of its sums")
    if not all(isinstance(payload.get(key), dict) for key in _EXACT):
        raise _corrupt(path, f"lacks one of {', '.join(_EXACT)}")
    return payload


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _corrupt(path: str | Path, what: str) -> CorruptFile:
    return CorruptFile(f"{path} {what}", where=str(path), fix="compute it again: slm eval RUN", path=str(path))


def inconsistencies(content: Mapping[str, Any]) -> list[str]:
    """Where a certificate contradicts itself: its bits per byte must follow from its sums."""
    sums = content["sums"]
    nats = {"bpb_content": sums["nats_content"], "bpb_total": sums["nats_content"] + sums["nats_special"]}
    found = []
    for name, value in nats.items():
        expected = value / (LN2 * sums["bytes"]) if sums["bytes"] else math.nan
        if not _close(content.get(name), expected):
            found.append(f"{name} is {content.get(name)}; its sums give {expected:.6f}")
    return found


def differences(stated: Mapping[str, Any], computed: Mapping[str, Any]) -> list[str]:
    """Where a stated certificate differs from one that was just computed; empty where it is confirmed."""
    found = inconsistencies(stated)
    for section in _EXACT:
        for key in sorted(set(stated[section]) | set(computed[section])):
            ours, theirs = computed[section].get(key), stated[section].get(key)
            if ours != theirs:
                found.append(f"{section}.{key} is {_short(theirs)}; computed {_short(ours)}")
    for key in _COUNTS + _NATS:
        ours, theirs = computed["sums"][key], stated["sums"][key]
        if ours != theirs if key in _COUNTS else not _close(theirs, ours):
            found.append(f"sums.{key} is {theirs}; computed {ours}")
    return found


def _close(a: object, b: object) -> bool:
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return a is b
    return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=RELATIVE_TOLERANCE)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:16]}…"
