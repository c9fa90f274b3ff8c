"""Names of other libraries that a class lacks: getting one says what stands here for it.

Each is a descriptor. A `__getattr__` would serve every name, and every use of a method would take 90 ns more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

Class = TypeVar("Class", bound=type)


class AbsentName:
    """The descriptor of a name. Attributes of an object or a derived class with this name take its place.

    explain(name, owner, kind): the message, of an object or, where the owner is None, of its class.
    """

    def __init__(self, name: str, explain: Callable[[str, Any, type], str]) -> None:
        self._name, self._explain = name, explain

    def __get__(self, owner: object | None, kind: type) -> NoReturn:
        # Of an object, Python would add the present name of the most similar letters.
        raise AttributeError(self._explain(self._name, owner, kind), name=self._name, obj=None)


def adds_absent_names(names: Iterable[str], explain: Callable[[str, Any, type], str]) -> Callable[[Class], Class]:
    """Decorates a class with the descriptors of names that it lacks, which `dir` of its objects does not list."""

    def decorate(kind: Class) -> Class:
        taken = {*dir(kind), *getattr(kind, "__annotations__", ())}
        for name in names:
            if name not in taken:
                setattr(kind, name, AbsentName(name, explain))
        setattr(kind, "__dir__", _names_of_object)  # noqa: B010 - mypy refuses to assign a method
        return kind

    return decorate


def present_names(kind: type, names: Iterable[str]) -> list[str]:
    """The names that a class has, without the names of descriptors."""
    found = {name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()}
    return [name for name in names if not isinstance(found.get(name), AbsentName)]


def _names_of_object(owner: object) -> Iterable[str]:
    return {*present_names(type(owner), object.__dir__(owner)), *getattr(owner, "__dict__", {})}
