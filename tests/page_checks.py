"""Pages in tests: what their data hold, what a browser makes of them, and texts that try to be more than text."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = [
    *("<script>window.hacked=1</script>", "</script><img src=x onerror=window.hacked=1>", "<!--", "-->", "]]>", "\"'`"),
    *(
        "&lt;b&gt;",
        "<svg onload=window.hacked=1>",
        "javascript:window.hacked=1",
        "{{ script }}",
        "{{ data }}",
        "\u202eevil",
    ),
    *(
        "\u2066x\u2069",
        "\x00",
        "\x1b[31m",
        "\u2028",
        "\ufeff",
        "</textarea>",
        "</style>",
        "<iframe srcdoc=x>",
        "${1}",
        "\\u003c",
    ),
    *(f"<b id=b{i}>" for i in range(30)),
]
INVISIBLE = {"\u202e", "\u2066", "\u2069", "\x00", "\x1b", "\u2028", "\ufeff"}
"""Characters of `HOSTILE` that no page may hold."""


def data_of(page: str) -> Any:
    found = re.search(r'id="data">([^<]*)</script>', page)
    assert found is not None
    return json.loads(zlib.decompress(b64decode(found[1])))


def rendered(page: Path, tmp_path: Path) -> str:
    """The page as a browser has it after its script ran."""
    assert BROWSER is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'browser'}"]
    command = [BROWSER, *flags, "--virtual-time-budget=20000", "--dump-dom", page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
