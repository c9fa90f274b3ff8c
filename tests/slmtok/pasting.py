"""The fix of a wrong call in Python, run as it is written."""

from __future__ import annotations

from typing import Any

import pytest

import slmtok
from slmtok.errors import SlmtokError


def pasted(call: Any, kind: type[SlmtokError], **names: Any) -> tuple[str, Any]:
    """The fix of the error of a call, and what it gives."""
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.fix is not None
    call_of_fix = caught.value.fix
    for words in ("tok = ", "import glob; ", "one id a call: "):
        call_of_fix = call_of_fix.removeprefix(words)
    return caught.value.fix, eval(call_of_fix, {"slmtok": slmtok, **names})
