"""Files of what was measured of a run: `RUN/eval/NAME.json`, envelopes with the digests of weights and tokenizer.

Certificates of `slm eval` (docs/formats/certificate.md), and results of `slm passkey`, `slm probe` and `slm prompts`.
"""

from __future__ import annotations

import errno
import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

from slmmodel.checkpoint import RunFolder
from slmmodel.cli.open_by_path import RunContext
from slmmodel.errors import Unreadable
from slmmodel.files import make_folder, open_file, translated_errors, write_file
from slmmodel.folder_lock import FolderHandle, check_folder, check_in_place
from slmmodel.run_entries import EVALUATIONS
from slmmodel.versions import package_version
from slmtok import atomic, schema
from slmtok.atomic import check_outputs
from slmtok.cli.output import ANSWER_NO, DONE, Outcome, Row, finite, note, print_rows, settings
from slmtok.envelope import BASELINES, Envelope, load_payload
from slmtok.errors import OutputExists, SlmtokError
from slmtok.files import free_name
from slmtok.json_files import corrupt
from slmtok.strict_json import FaultError

IDENTITY = {
    "model": schema.table({"weights": schema.digest, "arch": schema.text, "seq_len": schema.integer(1)}),
    "tokenizer": schema.digest,
}
"""What `identity` gives, besides the path."""
CERTIFICATE, PASSKEY, PROBE, PROMPT_SHEET = "certificate", "passkey", "probe", "prompts"
MAX_PROBE_DIGITS = 9
_NUMBER, _TEXT = schema.nullable(schema.number), schema.nullable(schema.text)
_CERTIFICATE = schema.table(
    {
        "bpb_total": _NUMBER,
        "bpb_content": _NUMBER,
        "interval": schema.nullable(
            schema.table(
                {
                    **dict.fromkeys(("low", "high", "level"), _NUMBER),
                    **dict.fromkeys(("unit", "of", "method"), schema.text),
                    "n_units": schema.integer(),
                }
            )
        ),
        "sums": schema.table(
            {
                **dict.fromkeys(("documents", "bytes", "targets", "content_targets"), schema.integer()),
                **dict.fromkeys(("nats_content", "nats_special"), _NUMBER),
            }
        ),
        "conversions": schema.mapping(schema.nullable(schema.finite)),
        "model": schema.table({"weights": schema.digest, "arch": schema.text}),
        "tokenizer": schema.table({"fingerprint": schema.digest, "file": schema.nullable(schema.digest)}),
        "documents": schema.table(
            {
                "digest": schema.nullable(schema.text),
                "data": schema.nullable(schema.text),
                "split": schema.text,
                "frame": _TEXT,
                "bytes_from": schema.choice("source", "derived"),
            }
        ),
        "scoring": schema.table(
            {
                "seq_len": schema.either("an integer or 'unlimited'", schema.integer(1), schema.choice("unlimited")),
                "stride": schema.nullable(schema.integer(1)),
                "positions": schema.text,
                "precision": schema.choice("fp32", "bf16", "fp16"),
            }
        ),
        "versions": schema.mapping(schema.text),
    },
    {"baselines": schema.nullable(BASELINES), "breakdown": schema.mapping(schema.array(schema.mapping(schema.plain)))},
)
_PROBE = schema.table(
    {
        **IDENTITY,
        "settings": schema.table(
            {
                "tasks": schema.array(schema.text),
                **dict.fromkeys(("batch_size", "samples"), schema.integer(1)),
                **dict.fromkeys(("steps", "seed"), schema.integer()),
                "digits": schema.integer(2, MAX_PROBE_DIGITS),
                "lr": schema.number,
            },
            # Results of earlier releases have none.
            {"threads": schema.integer(1)},
        ),
        "digits_as_ids": schema.array(schema.text),
        "probes": schema.array(
            schema.table(
                {
                    "task": schema.text,
                    **dict.fromkeys(("exact", "answer_ids_correct"), schema.integer()),
                    **dict.fromkeys(("samples", "answer_ids"), schema.integer(1)),
                    "interval": schema.array(schema.number, length=2),
                    "commonest": schema.number,
                    "loss": schema.nullable(schema.number),
                    "example": schema.text,
                    "example_as_ids": schema.array(schema.text),
                }
            )
        ),
    }
)
_SHARE = schema.table(
    {"share": schema.nullable(schema.number), "interval": schema.nullable(schema.array(schema.number, length=2))}
)
_PROMPTS = schema.table(
    {
        **IDENTITY,
        "settings": schema.table({"max_new": schema.integer(1), "seed": schema.integer()}),
        "prompts": schema.array(schema.text),
        "training_ids": schema.integer(),
        "sheet": schema.array(
            schema.table(
                {
                    "method": schema.text,
                    "measures": schema.mapping(_SHARE),
                    "continuations": schema.array(schema.text),
                    "lengths": schema.array(schema.integer()),
                }
            )
        ),
    }
)
_RIGHT = {
    "exact": schema.integer(),
    "samples": schema.integer(1),
    "interval": schema.array(schema.number, length=2),
}
_CELL = {
    "length": schema.integer(1),
    "depth": schema.number,
    **_RIGHT,
    **dict.fromkeys(("contains", "answer_ids_correct", "answer_ids", "prompt_ids", "prompt_bytes"), schema.integer()),
    "needle_ids": schema.array(schema.integer(), length=2),
}
_PASSKEY = schema.table(
    {
        **IDENTITY,
        "settings": schema.table(
            {
                "lengths": schema.array(schema.integer(1)),
                "depths": schema.array(schema.number),
                "samples": schema.integer(1),
                "digits": schema.integer(2, 9),
                "seed": schema.integer(),
                "max_new": schema.integer(),
                "ignore_memory": schema.boolean,
            }
        ),
        "template": schema.table(dict.fromkeys(("intro", "filler", "needle", "question", "answer"), schema.text)),
        "digits_as_ids": schema.array(schema.text),
        "chance": schema.number,
        "trained_on_passkeys": schema.number,
        "cells": schema.array(schema.table(_CELL)),
        "by_length": schema.array(schema.table({"length": schema.integer(1), **_RIGHT})),
    },
    {"by_segments_between": schema.array(schema.table({"segments": schema.integer(), **_RIGHT}))},
)
_PAYLOADS = {PASSKEY: _PASSKEY, PROBE: _PROBE, PROMPT_SHEET: _PROMPTS}


def load_certificate(path: str) -> dict[str, Any]:
    """The payload of a certificate. Raises `CorruptFile`, `UnsupportedVersion`, `MissingInput`, `Unreadable`."""
    return load_payload(path, CERTIFICATE, _CERTIFICATE, allow_floats=True)


def format_bits(value: float | None) -> str:
    """Bits per byte of a certificate, whose null stands for a number that is not finite."""
    return "not finite" if value is None else f"{value:.4f}"


def to_envelope(payload: dict[str, Any]) -> Envelope:
    """The file of a certificate."""
    inputs = {
        "weights": payload["model"].get("weights"),
        "tokenizer": payload["tokenizer"].get("fingerprint"),
        "documents": payload["documents"].get("digest"),
        "data": payload["documents"].get("data"),
    }
    return envelope_of(CERTIFICATE, inputs, payload)


def envelope_of(kind: str, inputs: dict[str, Any], payload: dict[str, Any]) -> Envelope:
    """A file of this package, in the form that all results share. Numbers that are not finite become null."""
    return Envelope(kind, inputs, finite(payload), f"slmmodel {package_version()}")


def check_result(run: RunFolder, name: str = "result.json", *, option: str) -> None:
    """Raises unless a result of this name can be written into the folder of the run, before it is measured.

    option: the one that names another file. Raises what `check_outputs` and `check_folder` raise.
    """
    folder = run.path / EVALUATIONS
    try:
        if not folder.is_dir():
            check_folder(folder)
        check_outputs(folder / name if folder.is_dir() else folder, force=True)
    except (Unreadable, SlmtokError) as error:
        error.fix = _fix_of(error, option)
        raise


def _fix_of(error: Unreadable | SlmtokError, option: str) -> str:
    """What lets a result be written: a higher limit of the process, which holds in each folder, or another folder."""
    number = error.fields.get("os_error")
    return atomic.REMEDIES[number] if number in (errno.EFBIG, errno.EMFILE) else f"{option} FILE, in another folder"


def identity(context: RunContext, step: int | None) -> dict[str, Any]:
    """The run, weights and tokenizer that a result belongs to."""
    config = context.model.config
    model = {"weights": context.run.weights_digest(step), "arch": config.arch, "seq_len": config.seq_len}
    return {"path": str(context.run.path), "model": model, "tokenizer": context.vocab.fingerprint}


def save(
    run: RunFolder,
    kind: str,
    result: Mapping[str, Any],
    *,
    output: str | None,
    force: bool,
    name: str | None = None,
    pictures: Sequence[tuple[str, bytes]] = (),
) -> str:
    """Writes a result with entries `model` and `tokenizer` to `output`, or into the folder of the run, replacing an
    earlier one, together with pictures of it; gives its path. The `path` of the result stays outside. Raises as
    `write_result`."""
    inputs = {"weights": result["model"]["weights"], "tokenizer": result["tokenizer"]}
    payload = {name: value for name, value in result.items() if name != "path"}
    data = envelope_of(kind, inputs, payload).to_bytes()
    name = name or f"{kind}.json"
    return write_result(run, name, data, output, option="-o", force=force, pictures=pictures)


def write_result(
    run: RunFolder,
    name: str,
    data: bytes,
    output: str | None,
    *,
    option: str,
    force: bool = False,
    pictures: Sequence[tuple[str, bytes]] = (),
) -> str:
    """Writes a result to `output`, or into the folder of the run; gives its path. A note says that another one was
    there.

    option: the one that names another file. Raises as `write_measured`, and `Unreadable` where another folder was put
    in the place of the run since it was opened.
    """
    # A run that was put in its place meanwhile has other weights.
    check_in_place(run.handle)
    if output is not None:
        write_measured(output, data, force=force, pictures=pictures)
        return output
    target = run.path / EVALUATIONS / name
    atomic.remove_stale(target)
    try:
        with translated_errors(target.parent, handle=run.handle), suppress(FileExistsError):
            make_folder(target.parent, run.handle)
        earlier = _earlier_result(target, run.handle)
        write_file(target, data, run.handle, atomic.temporary_path(target))
    except Unreadable as error:
        if run.handle is None or run.handle.is_in_place:
            error.fix = _fix_of(error, option)
        raise
    check_in_place(run.handle)
    atomic.write_all(pictures, force=force)
    if earlier is not None and not settings().quiet and not _adds_to(data, earlier):
        note(f"{target} had another result{_of_other(data, earlier)}, which is replaced; {option} FILE keeps both")
    return str(target)


def write_measured(output: str, data: bytes, *, force: bool, pictures: Sequence[tuple[str, bytes]] = ()) -> None:
    """Writes what was measured to a file that was named, together with pictures of it.

    Raises `OutputExists` for one that came into being since, without `force`; the result, which may have taken hours,
    is then written beside it. Where pictures cannot be written, the result is written alone.
    """
    if pictures:
        try:
            atomic.write_all([(output, data), *pictures], force=force)
        except SlmtokError:
            write_measured(output, data, force=force)
            raise
        return
    try:
        atomic.write(output, data, force=force)
    except OutputExists as error:
        beside = free_name(output)
        atomic.write(beside, data)
        raise OutputExists(
            f"output {output!r} came into being while this was measured",
            limit=f"the result is in {beside!r}",
            fix=f"{shlex.join(['mv', beside, output])} replaces it",
            path=output,
        ) from error


def _earlier_result(path: Path, handle: FolderHandle | None) -> bytes | None:
    """The bytes of the result that a new one replaces; empty where it is not readable, None where there is none."""
    try:
        with open_file(path, "rb", handle) as file:
            return bytes(file.read())
    except FileNotFoundError:
        return None
    except OSError:
        return b""


def _adds_to(data: bytes, earlier: bytes) -> bool:
    """Whether a result has all values of an earlier one, and perhaps more, such as baselines."""
    try:
        now, before = json.loads(data), json.loads(earlier)
        kept = ((name, value) for name, value in before["payload"].items() if value is not None)
        return data == earlier or all(now["payload"].get(name) == value for name, value in kept)
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return False


def _of_other(data: bytes, earlier: bytes) -> str:
    """What an earlier result was of that the new one is not: weights, documents or settings; empty where none says."""
    try:
        now, before = json.loads(data), json.loads(earlier)
        inputs = [name for name, value in before["inputs"].items() if now["inputs"].get(name) != value]
        own, other = (each["payload"].get("scoring", {}) for each in (now, before))
        changed = [f"{name} {value}" for name, value in other.items() if own.get(name) != value]
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return ""
    # Documents are those of the data.
    found = [f"other {name}" for name in inputs if name != "data" or "documents" not in inputs] + changed
    return f" (of {', '.join(found)})" if found else ""


def load_result(path: str, kind: str) -> dict[str, Any]:
    """The result of `slm passkey`, `slm probe` or `slm prompts` in a file. Raises what `load_payload` raises."""
    found = load_payload(path, kind, _PAYLOADS[kind], allow_floats=True)
    faults: list[str] = []
    if kind == PASSKEY:
        measured = {(cell["length"], cell["depth"]) for cell in found["cells"]}
        for length, depth in product(found["settings"]["lengths"], found["settings"]["depths"]):
            if (length, depth) not in measured:
                faults.append(f"the cell of length {length:,} and depth {depth:g} % is missing")
    for line in found.get("sheet", ()):
        # A page draws one continuation of each prompt.
        if not len(line["continuations"]) == len(line["lengths"]) == len(found["prompts"]):
            n_texts, n_prompts = len(line["continuations"]), len(found["prompts"])
            faults.append(f"{line['method']!r} has {n_texts} continuations of {n_prompts} prompts")
    if faults:
        raise corrupt(path, kind, FaultError(faults[0]), f"restore the file, or run slm {kind} again")
    return found


def checked(path: str, stated: Mapping[str, Any], computed: Mapping[str, Any]) -> Outcome:
    """Compares a result that a file states with one that was just computed; status 3 where they differ."""
    now = json.loads(json.dumps(finite({name: value for name, value in computed.items() if name != "path"})))
    wrong = [name for name, value in now.items() if stated.get(name) != value]
    return proof(path, wrong, [("differs", ", ".join(wrong))])


def proof(path: str, wrong: Sequence[str], rows: Sequence[Row], about: str = "", **more: Any) -> Outcome:
    """Whether a file that was computed again is right.

    wrong: what differs. about: the end of the title. more: entries of the result.
    """
    return Outcome(
        {"path": path, "proven": not wrong, "differences": wrong, **more},
        lambda: print_rows(rows, title=f"{path}: {'not proven' if wrong else 'proven'}{about}"),
        code=ANSWER_NO if wrong else DONE,
    )


def measure_rows(result: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of measures of a prompt sheet."""
    names = list(result["sheet"][0]["measures"]) if result["sheet"] else []
    rows = [[line["method"], *(_shown(line["measures"][name]) for name in names)] for line in result["sheet"]]
    return ["", *(name.replace("_", "-") for name in names)], rows


def _shown(one: Mapping[str, Any]) -> str:
    if one["share"] is None:
        return "-"
    between = "" if one["interval"] is None else " ({:.0%} to {:.0%})".format(*one["interval"])
    return f"{one['share']:.0%}{between}"
