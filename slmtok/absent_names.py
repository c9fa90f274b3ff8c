"""Names of other libraries that a `Tokenizer` lacks: getting one says what stands here for it.

Each is a descriptor. A `__getattr__` would serve every name, and every use of a method would take 90 ns more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

from slmtok.foreign_options import CALLS_ELSEWHERE, OF_HF, OF_OTHERS, OF_SENTENCEPIECE, OF_TIKTOKEN, call_meant

if TYPE_CHECKING:
    from slmtok.tokenizer import Tokenizer

_ROLES = ("unk", "bos", "eos", "pad", "sep", "mask", "cls", "user", "assistant", "system")
"""Roles of special tokens whose ids and spellings are attributes elsewhere."""


class NamesConstructors(type):
    """Says how a Tokenizer is opened or made where a class method of another library is called."""

    def __getattr__(cls, name: str) -> NoReturn:
        hint = "" if name.startswith("_") else "; slmtok.load(path) opens one, slmtok.train(corpus) makes one"
        raise AttributeError(f"the class {cls.__name__} has no attribute {name!r}{hint}", name=name, obj=cls)

    def __dir__(cls) -> list[str]:
        return present_names(cls, super().__dir__())


class AbsentName:
    """The descriptor of a name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, tok: Tokenizer | None, cls: type[Tokenizer]) -> NoReturn:
        if tok is None:
            raise AttributeError(self._name)  # the metaclass says what makes a Tokenizer
        hint = _hint(tok, self._name)
        raise AttributeError(f"a Tokenizer has no attribute {self._name!r}{hint}", name=self._name, obj=tok)


def explains_absent_names(cls: type[Tokenizer]) -> type[Tokenizer]:
    """Decorates a class with the descriptors of names that it lacks."""
    package = sys.modules["slmtok"].__all__
    roles = (f"{role}{part}" for role in _ROLES for part in ("", "_id", "_token", "_token_id"))
    for name in {*roles, *OF_HF, *OF_TIKTOKEN, *OF_SENTENCEPIECE, *OF_OTHERS, *CALLS_ELSEWHERE, *package}:
        if name not in vars(cls) and name.isidentifier():
            setattr(cls, name, AbsentName(name))
    return cls


def present_names(cls: type, names: Iterable[str]) -> list[str]:
    """The names that a class has, without those of descriptors."""
    return [name for name in names if not isinstance(vars(cls).get(name), AbsentName)]


def id_of(role: str) -> str:
    """What has the id of a special; + adds this one to each id of an array."""
    adds = f", and tok.encode(text, {role}=True) adds it" if role in ("bos", "eos") else ""
    return f"tok.specials[{role!r}] has it{adds}"


def _hint(tok: Tokenizer, name: str) -> str:
    """What stands here for a name of another library."""
    role, _, what = name.partition("_token")
    if role in tok.specials and what in ("", "_id"):
        return f"; {id_of(role)}" if what else f"; tok.specials.text({role!r}) has it"
    if name.removesuffix("_id") in tok.specials:
        return f"; {id_of(name.removesuffix('_id'))}"
    if name in dir(sys.modules["slmtok"]):
        # The import names the package where a program calls its tokenizer `slmtok`.
        return f"; the package has it: import slmtok; help(slmtok.{name})"
    if call := call_meant(name):
        return f"; {call}"
    return "; dir(tok) lists its attributes, and slmtok.compat has adapters with names of other libraries"
