"""How much of an export or import is compared in tests: all of it takes ten seconds, and one test does it."""

from slmtok.formats.verification import Effort

QUICK = Effort(text_bytes=30_000, fuzz=300, code_points=97)
