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
    return caught.value.fix, eval(caught.value.fix.removeprefix("tok = "), {"slmtok": slmtok, **names})
