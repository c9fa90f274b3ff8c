"""An automaton over bytes, such as that of a regular expression, lifted to the ids of a vocabulary.

An id is allowed in a state if the automaton can read its bytes from there. So half a character, or any other way to
divide a text into tokens, is allowed as long as a match can still follow. Ids without bytes are never allowed.

Letters: N states, C classes of bytes, V vocabulary size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from slmmodel.errors import InvalidInput

START = 0
MAX_CACHED_STATES = 1024
"""States whose allowed ids are kept: V bytes each."""


class TokenAutomaton:
    """A constraint on new ids, as `SamplingOptions.constraint` takes it.

    The allowed ids of a state take one pass over the bytes of the vocabulary, and are kept for its next visit.
    """

    def __init__(
        self,
        classes: NDArray[np.uint8],
        transitions: NDArray[np.uint32],
        accepting: NDArray[np.bool_],
        tokens: Sequence[bytes],
    ) -> None:
        """An automaton in which a match can be reached from every state; state 0 is the start.

        classes: uint8 [256], the class of each byte. transitions: uint32 [N C], the next state of each state and class,
        2^32 - 1 for none. accepting: bool [N]. tokens: the bytes of each id, empty for specials. Raises `InvalidInput`
        for a vocabulary that lacks one of the 256 bytes, which could end where no id is allowed.
        """
        single = {token[0] for token in tokens if len(token) == 1}
        if len(single) < 256:
            missing = next(byte for byte in range(256) if byte not in single)
            raise InvalidInput(
                f"the vocabulary has no id for the byte {missing:#04x} alone",
                limit="a constraint needs ids for all 256 bytes",
                fix="a tokenizer with byte fallback",
            )
        n_states = len(accepting)
        # Row N is the state without a way on.
        table = np.full((n_states + 1, len(transitions) // n_states), n_states, dtype=np.int32)
        table[:-1] = np.minimum(transitions, n_states).reshape(n_states, -1)
        self._table, self._accepting, self._dead = table, accepting, n_states
        read = [classes[np.frombuffer(token, dtype=np.uint8)] for token in tokens]
        self._token_classes = read
        # By falling length, so that the tokens with a byte in column i are the first of all.
        order = sorted((id for id, token in enumerate(tokens) if token), key=lambda id: -len(tokens[id]))
        self._order = np.array(order)
        longest = len(tokens[order[0]])
        lengths = np.array([len(tokens[id]) for id in order])
        counts = [int(np.searchsorted(-lengths, -column)) for column in range(longest)]
        self._columns = [np.array([read[id][column] for id in order[:count]]) for column, count in enumerate(counts)]
        # Caches of this object, which end with it.
        self.allowed = lru_cache(MAX_CACHED_STATES)(self._allowed)
        self._step = lru_cache(1 << 16)(self._next_state)

    def run(self, ids: Sequence[int]) -> int | None:
        """The state after these ids; None where one of them was not allowed."""
        state = START
        for id in ids:
            state = self._step(state, id)
        return None if state == self._dead else state

    def is_match(self, state: int) -> bool:
        """Whether the ids so far are a match as a whole, so that a stop id may follow."""
        return bool(self._accepting[state])

    def _allowed(self, state: int) -> Tensor:
        """bool [V]: the ids that may follow."""
        states = np.full(len(self._order), state, dtype=np.int32)
        for column in self._columns:
            states[: len(column)] = self._table[states[: len(column)], column]
        allowed = np.zeros(len(self._token_classes), dtype=np.bool_)
        allowed[self._order] = states != self._dead
        return torch.from_numpy(allowed)

    def _next_state(self, state: int, id: int) -> int:
        classes = self._token_classes[id]
        for class_ in classes.tolist():
            state = int(self._table[state, class_])
        return state if len(classes) else self._dead
