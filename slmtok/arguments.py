"""Judging what callers hand over: texts, batches, paths, numbers of threads. Ids are judged in `slmtok.id_rows`.

Each error says what the caller may have meant: a path where text belongs, one text where many do.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from slmtok.errors import OptionError, WrongType
from slmtok.whole_numbers import U32, whole

if TYPE_CHECKING:
    import numpy as np

    from slmtok.aliases import Ids, Text

BYTES_LIKE = (bytes, bytearray, memoryview)


def one_text(x: object) -> Text:
    """`x`, if it is one text. Raises `WrongType` with what to call instead."""
    if isinstance(x, (str, *BYTES_LIKE)):
        return x
    if isinstance(x, os.PathLike):
        raise WrongType(f"{str(x)!r} is a path, not text", fix="read the file, or tok.encode_files([path], out)")
    if isinstance(x, (list, tuple)):
        raise WrongType(f"a {type(x).__name__} is not one text", fix="tok.encode_batch(texts)")
    found = _buffer(x)
    if found is None:
        raise WrongType(f"text must be str or bytes, not {type(x).__name__}", fix="tok.encode('some text')")
    return found


def _buffer(x: object) -> memoryview | None:
    """What holds plain bytes in one row (numpy's uint8, `array('B')`, mmap), as a view; else None."""
    try:
        view = memoryview(x)  # type: ignore[arg-type]  # that is what is being found out
    except (TypeError, ValueError, BufferError):
        return None
    return view if view.format == "B" and view.ndim == 1 and view.c_contiguous else None


def many_texts(xs: object, call: str) -> Sequence[Text]:
    """`xs` as a sequence of texts. Raises `WrongType` for a lone text or path."""
    if isinstance(xs, (str, *BYTES_LIKE)):
        raise WrongType(f"{call} takes many texts, this is one {type(xs).__name__}", fix=f"tok.{call}([text])")
    if isinstance(xs, os.PathLike):
        raise WrongType(f"{str(xs)!r} is a path, not texts", fix="tok.encode_files([path], out)")
    if isinstance(xs, Mapping) or not isinstance(xs, Iterable):
        raise WrongType(f"{call} takes many texts, not {type(xs).__name__}", fix=f"tok.{call}([text])")
    texts = xs if isinstance(xs, (list, tuple)) else list(xs)
    for index, text in enumerate(texts):
        if not isinstance(text, (str, *BYTES_LIKE)):
            raise WrongType(
                f"text {index} is {type(text).__name__}, not str or bytes",
                fix="tok.encode_files(paths, out)" if isinstance(text, os.PathLike) else "leave it out, or str(it)",
            )
    return cast("Sequence[Text]", texts)


def threads(value: int) -> int:
    """`value`, if it is a number of threads, 0 for all. Raises `OptionError`, `WrongType`."""
    return whole("threads", value, 0, U32)


def check_progress(progress: object) -> None:
    """Raises `WrongType` unless `progress` can be called, or is None."""
    if progress is not None and not callable(progress):
        raise WrongType(
            f"progress must be a function of (stage, done, total), not {type(progress).__name__}",
            fix="progress=lambda stage, done, total: print(stage, done, total)",
        )


def check_unit(unit: str) -> None:
    """Raises `OptionError` unless `unit` is one that spans come in."""
    if unit not in ("bytes", "chars"):
        raise OptionError(f"unit {unit!r} is unknown", limit="bytes, chars", fix="unit='bytes'", option="unit")


def check_errors(errors: str) -> None:
    """Raises `OptionError` unless `errors` names a way to decode what is no UTF-8."""
    try:
        codecs.lookup_error(errors)
    except (LookupError, TypeError):
        raise OptionError(
            f"errors={errors!r} is unknown",
            limit="as in bytes.decode: replace, strict, ignore, backslashreplace, surrogateescape",
            fix="errors='replace'",
            option="errors",
        ) from None


def one_path(path: object) -> str:
    """`path` as a str. Raises `WrongType`."""
    if not isinstance(path, (str, os.PathLike)):
        raise WrongType(f"a file is named by a str or a Path, not by {type(path).__name__}", fix="'corpus.txt'")
    return os.fspath(path)


def joined(parts: Sequence[Ids], dtype: np.dtype[Any]) -> Ids:
    """One read-only array of all parts."""
    import numpy as np

    ids = np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype=dtype)
    ids.flags.writeable = False
    return cast("Ids", ids)
