"""Names of other libraries that a `Tokenizer` lacks, each with what stands here for it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from slmtok.absent_names import adds_absent_names, present_names
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


def explains_absent_names(cls: type[Tokenizer]) -> type[Tokenizer]:
    """Decorates a class with the descriptors of names that it lacks."""
    package = sys.modules["slmtok"].__all__
    roles = (f"{role}{part}" for role in _ROLES for part in ("", "_id", "_token", "_token_id"))
    names = {*roles, *OF_HF, *OF_TIKTOKEN, *OF_SENTENCEPIECE, *OF_OTHERS, *CALLS_ELSEWHERE, *package}
    return adds_absent_names(filter(str.isidentifier, names), _explain)(cls)


def _explain(name: str, tok: Tokenizer | None, cls: type) -> str:
    # The metaclass says of a class what makes a Tokenizer.
    return name if tok is None else f"a Tokenizer has no attribute {name!r}{_hint(tok, name)}"


def _id_of(role: str) -> str:
    """What has the id of a special, and what puts it beside ids, where + adds it to each id of an array."""
    if role not in ("bos", "eos"):
        return f"tok.specials[{role!r}] has it"
    return f"tok.encode(text, {role}=True) puts it beside the ids; tok.specials[{role!r}] has it, as a number"


def _hint(tok: Tokenizer, name: str) -> str:
    """What stands here for a name of another library."""
    role, _, what = name.partition("_token")
    if role in tok.specials and what in ("", "_id"):
        return f"; {_id_of(role)}" if what else f"; tok.specials.text({role!r}) has it"
    if name.removesuffix("_id") in tok.specials:
        return f"; {_id_of(name.removesuffix('_id'))}"
    if role.removesuffix("_id") in _ROLES and what in ("", "_id"):
        role = role.removesuffix("_id")
        call = tok.specials.call_with({role: f"<|{role}|>"})
        made = f": tok = {call} makes one" if call else f"; {tok.specials.none_reserved}"
        return f"; no special token has the role {role!r}{made}"
    if name in dir(sys.modules["slmtok"]):
        # The import names the package where a program calls its tokenizer `slmtok`.
        return f"; the package has it: import slmtok; help(slmtok.{name})"
    if call := call_meant(name):
        return f"; {call}"
    return "; dir(tok) lists its attributes, and slmtok.compat has adapters with names of other libraries"
