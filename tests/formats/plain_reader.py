"""The reader in docs/formats/tokenizer.md, executed from the page itself."""

from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats" / "tokenizer.md"


def plain_tokenizer_class() -> Any:
    text = PAGE.read_text(encoding="utf-8")
    code = text.split("```python\n", 1)[1].split("```", 1)[0]
    space: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), space)
    return space["PlainTokenizer"]
