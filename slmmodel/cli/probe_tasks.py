"""The tasks of `slm probe`, as a table: questions with one right answer, made from random numbers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwz", "aeiou"


class Question(NamedTuple):
    """A prompt, and the answer that follows it up to the end of its line."""

    prompt: str
    answer: str


def _word(random: Random) -> str:
    return "".join(random.choice(_CONSONANTS) + random.choice(_VOWELS) for _ in range(random.randint(2, 4)))


def _copy(random: Random, digits: int) -> Question:
    words = " ".join(_word(random) for _ in range(3))
    return Question(f"copy: {words} ->", f" {words}\n")


def _reverse(random: Random, digits: int) -> Question:
    word = _word(random)
    return Question(f"reverse: {word} ->", f" {word[::-1]}\n")


def _addition(random: Random, digits: int) -> Question:
    a, b = (random.randrange(10 ** (digits - 1), 10**digits) for _ in range(2))
    return Question(f"{a}+{b}=", f"{a + b}\n")


def _brackets(random: Random, digits: int) -> Question:
    """Opening and closing brackets, of which as many close as are open; how many are open at the end?"""
    depth, text = 0, ""
    for _ in range(random.randint(6, 14)):
        closes = depth > 0 and random.random() < 0.45
        text, depth = text + (")" if closes else "("), depth + (-1 if closes else 1)
    return Question(f"depth: {text} ->", f" {depth}\n")


TASKS: dict[str, Callable[[Random, int], Question]] = {
    "copy": _copy,
    "reverse": _reverse,
    "addition": _addition,
    "brackets": _brackets,
}
"""To add a task, write its function of random numbers and the number of digits, and its line."""
