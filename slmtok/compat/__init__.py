"""Adapters with the names of other libraries: replace the import, keep the program.

Each module has the names, defaults and exceptions of one library on our engine: `tiktoken`, `hf` (transformers),
`tokenizers`, `sentencepiece`, `rustbpe`, `nanochat`, `minbpe` and `cs336`. Tests compare ids and merges with that
library; the docstring of a module lists intended differences. None of the libraries is imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING

from slmtok.calls import explains_calls
from slmtok.errors import Setting
from slmtok.foreign_options import CALLS_ELSEWHERE, call_meant
from slmtok.path_arguments import with_names

if TYPE_CHECKING:
    from slmtok.compat.hf import HFTokenizer
    from slmtok.compat.tiktoken import Encoding
    from slmtok.tokenizer import Tokenizer

__all__ = ["as_hf", "as_tiktoken"]


def as_tiktoken(tokenizer: Tokenizer, spell: Mapping[str, str] | None = None) -> Encoding:
    """A tiktoken-shaped `Encoding` of a tokenizer; `spell` (role to spelling) gives specials another spelling in it."""
    from slmtok.compat.tiktoken import from_tokenizer

    return from_tokenizer(tokenizer, spell=spell)


@explains_calls
def as_hf(
    tokenizer: Tokenizer,
    *,
    add_eos: bool = False,
    pad: str = "pad",
    model_max_length: int | None = None,
    padding_side: str = "right",
    truncation_side: str = "right",
) -> HFTokenizer:
    """A tokenizer as Hugging Face scripts call one: `as_hf(tok)(texts, truncation=True, max_length=512)`.

    add_eos: end each text with `eos` unless a call says otherwise. pad: role or spelling of the padding.
    """
    from slmtok.compat._hf_rows import UNLIMITED, Settings
    from slmtok.compat.hf import HFTokenizer
    from slmtok.tokenizer import check_tokenizer

    check_tokenizer(tokenizer)
    limit = UNLIMITED if model_max_length is None else model_max_length
    name = getattr(pad, "content", pad)  # of an `AddedToken`
    if not isinstance(name, str):
        error = tokenizer.specials.unknown(name)
        error.fix = (Setting("pad", error.fields.get("role", "pad")),)
        raise error
    return HFTokenizer(tokenizer, Settings(add_eos, name, limit, padding_side, truncation_side))


_MODULES = ("tiktoken", "hf", "tokenizers", "sentencepiece", "rustbpe", "nanochat", "minbpe", "cs336")


def import_meant(name: str) -> str | None:
    """What is meant by a name that an adapter has or stands for; None for another name."""
    from importlib import import_module

    public = () if name.startswith("_") else _MODULES
    holders = [each for each in public if name in import_module(f"{__name__}.{each}").__all__]
    if name.endswith(("Tokenizer", "TokenizerFast")) and not holders:
        return with_names("slmtok.compat.as_hf(slmtok.load('{TOK}')), which has the names of transformers")
    return " or ".join(f"from {__name__}.{each} import {name}" for each in holders) or None


def meant_in_package(name: str) -> str | None:
    """What is meant by a name that the package `slmtok` lacks; None for another name."""
    from slmtok.compat._shared import ABSENT
    from slmtok.tokenizer import Tokenizer

    if name in _MODULES:
        return f"from {__name__} import {name}"
    if name in ABSENT:
        return with_names(ABSENT[name])
    call = (CALLS_ELSEWHERE.get(name) and call_meant(name)) or import_meant(name) or call_meant(name)
    if call is None and hasattr(Tokenizer, name):
        call = f"tok.{name}{_required(getattr(Tokenizer, name))}"
    is_of_tokenizer = call is not None and re.search(r"\btok\b(?!\.(json|lock))", call)
    opened = with_names("  # tok is a Tokenizer; slmtok.load('{TOK}') opens one")
    return f"{call}{opened}" if is_of_tokenizer else call


def _required(member: object) -> str:
    """The arguments that a method requires: `(path)`; nothing for a property."""
    if not callable(member):
        return ""
    parameters = [*signature(member).parameters.values()]
    names = [each.name for each in parameters if each.default is each.empty and each.kind <= each.POSITIONAL_OR_KEYWORD]
    return f"({', '.join({'x': 'text', 'xs': 'texts'}.get(each, each) for each in names if each != 'self')})"


def __getattr__(name: str) -> object:
    """A module by its name. Raises `ImportError` for a class or function that one of them has or stands for."""
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"slmtok.compat.{name}")
    if fix := import_meant(name):
        raise ImportError(f"{__name__} has no {name!r}\n  fix:   {fix}", name=name)
    raise AttributeError(f"module 'slmtok.compat' has no attribute {name!r}; its modules are {', '.join(_MODULES)}")
