"""Arguments of analyses: named tokenizers, and documents with the indices of their domains."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Integral
from typing import cast

from slmtok.calls import argument_text
from slmtok.checks import BYTES_LIKE
from slmtok.errors import OptionError, WrongType
from slmtok.path_arguments import is_file_name
from slmtok.tokenizer import Tokenizer

_LIMIT = "pairs (bytes, index of the domain)"
_MAX_NAMED = 100
"""Domains up to which a fix names them."""


def check_named(tokenizers: object, call: str) -> Sequence[tuple[str, Tokenizer]]:
    """`tokenizers`, if it lists pairs (name, Tokenizer). Raises `WrongType`; its fix is `call` with them in `{}`."""
    listed = tokenizers if isinstance(tokenizers, (list, tuple)) else [tokenizers]
    wrong = next((each for each in listed if not _is_pair(each, Tokenizer)), None)
    if listed is tokenizers and wrong is None:
        return cast("Sequence[tuple[str, Tokenizer]]", tokenizers)
    named = "[('tok', tok)]" if len(listed) == 1 else "[(str(index), tok) for index, tok in enumerate(tokenizers)]"
    fact = f"tokenizers {'holds' if listed is tokenizers else 'is'} a {type(wrong).__name__}"
    raise WrongType(fact, limit="a list of pairs (name, Tokenizer)", fix=call.format(named))


def check_documents(
    documents: object, call: str, n_domains: int, domains: Callable[[int], object], limit: str = _LIMIT
) -> Iterator[tuple[bytes, int]]:
    """The documents, each checked when it is read. Raises `WrongType`; its fix is `call` with them in `{}`.

    Raises `OptionError` for the index of a domain that is none of `n_domains`; its fix is `domains` for that many.
    """
    if isinstance(documents, (str, *BYTES_LIKE)) or not isinstance(documents, Iterable):
        fact = f"the documents are one {type(documents).__name__}"
        raise WrongType(fact, limit=limit, fix=call.format(documents_meant(documents)))
    for index, document in enumerate(documents):
        if not (_is_pair(document) and isinstance(document[0], BYTES_LIKE)):
            shown = f"({type(document[0]).__name__}, {document[1]})" if _is_pair(document) else type(document).__name__
            fix = call.format(documents_meant(documents, document))
            raise WrongType(f"document {index} is {shown}", limit=limit, fix=fix)
        if not 0 <= document[1] < n_domains:
            raise OptionError(
                f"document {index} has the domain {document[1]}",
                limit=f"indices from 0 to {n_domains - 1}, of {n_domains:,} domain" + "s" * (n_domains != 1),
                fix=f"domains={domains(int(document[1]) + 1)!r}"
                if 0 < document[1] < _MAX_NAMED
                else "0 as the index of the first domain",
                option="domains",
            )
        yield document


def _is_pair(value: object, second: type = Integral) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and isinstance(value[1], second)


def documents_meant(documents: object, wrong: object = None) -> str:
    """Source of pairs for the documents that were given; `wrong`: the first one that is no pair, else the first."""
    if isinstance(documents, (str, *BYTES_LIKE, os.PathLike)):
        return f"[({bytes_meant(documents)}, 0)]"
    listed = documents if isinstance(documents, (list, tuple)) else None
    if wrong is None and listed:
        wrong = listed[0]
    if _is_pair(wrong):
        is_right = isinstance(cast("tuple[object, int]", wrong)[0], BYTES_LIKE)
        pairs = argument_text(listed, "documents")
        return pairs if is_right else f"[(text.encode(), domain) for text, domain in {pairs}]"
    if listed and len(listed) == 1 and isinstance(wrong, (str, *BYTES_LIKE)):
        return f"[({bytes_meant(wrong)}, 0)]"
    of_text = "text" if isinstance(wrong, BYTES_LIKE) else "text.encode()"
    return "documents" if wrong is None else f"[({of_text}, 0) for text in {argument_text(listed, 'texts')}]"


def bytes_meant(text: object) -> str:
    """Source of the bytes of a text, and of the file that a name stands for."""
    if isinstance(text, os.PathLike) or (isinstance(text, str) and is_file_name(text)):
        return f"open({os.fspath(text)!r}, 'rb').read()"
    shown = argument_text(text, "text")
    return shown if isinstance(text, BYTES_LIKE) else f"{shown}.encode()"
