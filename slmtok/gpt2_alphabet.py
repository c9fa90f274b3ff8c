"""The characters by which files of GPT-2's form write bytes: printable ones as they are, the others from U+0100 on."""

from __future__ import annotations


def byte_of_character() -> dict[str, int]:
    """Character to byte, for all 256 bytes."""
    shown = [byte for byte in range(256) if chr(byte).isprintable() and byte != 0x20]
    hidden = sorted(set(range(256)).difference(shown))
    return {chr(byte): byte for byte in shown} | {chr(256 + index): byte for index, byte in enumerate(hidden)}
