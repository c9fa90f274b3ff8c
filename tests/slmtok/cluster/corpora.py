"""A corpus of several files, formats and domains, for tests that cut it into partitions."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

from slmtok.stories import stories


def write(folder: Path, files: int = 9) -> Path:
    """Writes `files` files of stories: jsonl, packed jsonl and lines in turn."""
    folder.mkdir()
    texts = list(islice(stories(seed=5), 60 * files))
    for number in range(files):
        part = texts[60 * number : 60 * number + 60]
        records = "".join(json.dumps({"text": text}) + "\n" for text in part).encode()
        name = folder / f"{number:02}"
        if number % 3 == 0:
            name.with_suffix(".jsonl").write_bytes(records)
        elif number % 3 == 1:
            (folder / f"{number:02}.jsonl.gz").write_bytes(gzip.compress(records))
        else:
            name.with_suffix(".lines").write_text("".join(text.replace("\n", " ") + "\n" for text in part))
    return folder
