"""Which preset to train where nobody said: by how much there is to learn from, and on what."""

from __future__ import annotations

_BY_TOKENS = {
    # Largest number of training ids for each preset: a CPU gets no further than the small ones in a day.
    "cpu": ((20_000_000, "cpu-demo"),),
    "cuda": (
        (8_000_000, "cpu-demo"),
        (80_000_000, "tiny-3m"),
        (1_000_000_000, "stories-15m"),
        (5_000_000_000, "base-40m"),
    ),
}
_BEYOND = {"cpu": "tiny-3m", "cuda": "base-85m"}
MOST_EPOCHS = 10
"""How often the data are read at most where a budget was not named."""


def preset_for(tokens: int, device: str) -> str:
    """The name of a preset for so many training ids on a device type."""
    kind = "cuda" if device == "cuda" else "cpu"
    return next((name for most, name in _BY_TOKENS[kind] if tokens <= most), _BEYOND[kind])


def default_tokens(preset_tokens: int, tokens: int) -> int:
    """The budget of a run where none was named: the preset's, but not more than ten epochs."""
    return min(preset_tokens, max(tokens, 1) * MOST_EPOCHS)
