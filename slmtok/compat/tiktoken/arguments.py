"""Judging the arguments of `Encoding`: texts, batches, sizes, numbers of threads; and text that no UTF-8 can hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, TypeVar

from slmtok.checks import U32, check_int
from slmtok.errors import InvalidOption, InvalidText, WrongType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Result = TypeVar("_Result")


MANY = 10**100


def u32(ids: Iterable[int]) -> NDArray[np.uint32]:
    """Ids as an array of uint32."""
    import numpy as np

    return np.array(list(ids), dtype=np.uint32)


def check_size(expected: int, listed: int, n_vocab: int) -> None:
    """Raises `InvalidOption` unless `explicit_n_vocab` is what is there."""
    if listed != expected or n_vocab != expected:
        raise InvalidOption(
            f"explicit_n_vocab is {expected}, there are {listed} tokens and the largest id is {n_vocab - 1}",
            limit="explicit_n_vocab = number of ranks and specials = largest id + 1",
            fix="leave explicit_n_vocab out, or mend the tables",
            option="explicit_n_vocab",
        )


def thread_count(value: int) -> int:
    """`value`, if it is a number of threads; more than there can be is as many as there are. Raises `InvalidOption`."""
    return min(check_int("num_threads", value, 1, MANY), U32)


def one_text(text: object) -> str:
    """`text`, if it is a `str`. Raises `WrongType`."""
    if not isinstance(text, str):
        raise WrongType(f"text must be str, not {type(text).__name__}", fix="for bytes: slmtok's own tok.encode(data)")
    return text


def many_texts(texts: Collection[str]) -> list[str]:
    """A batch as a list. Raises `WrongType`, for a lone `str` too."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise WrongType(f"a batch is a list of str, this is one {type(texts).__name__}", fix="encode_batch([text])")
    return [one_text(text) for text in texts]


def lenient(encode: Callable[[str], _Result], text: str) -> _Result:
    """Encodes; text with lone surrogates, which no UTF-8 can hold, is repaired first, as tiktoken does."""
    try:
        return encode(text)
    except InvalidText:
        return encode(repaired(text))


def repaired(text: str) -> str:
    """Text through UTF-16, where pairs of surrogates become characters and lone ones are replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
