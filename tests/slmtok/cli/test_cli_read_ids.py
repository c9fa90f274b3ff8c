"""Files of ids that are something else: archives of arrays, damaged headers, offsets that are none."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from slmtok.cli.id_reader import read_ids as read
from slmtok.errors import CorruptFile


def saved(values: list[float], dtype: str) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array(values, dtype=dtype))
    return file.getvalue()


def archive() -> bytes:
    file = io.BytesIO()
    np.savez(file, ids=np.arange(3))
    return file.getvalue()


FAULTS = {
    "archive": (archive(), "it is not a .npy file"),
    "broken archive": (b"PK\3\4", "it is not a .npy file"),
    "empty": (b"", "it is empty"),
    "cut short": (saved([1, 2, 3], "<u2")[:-1], "truncated"),
    "header": (saved([1, 2, 3], "<u2").replace(b"}", b"("), "damaged"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_array(tmp_path: Path, fault: str) -> None:
    content, reason = FAULTS[fault]
    (tmp_path / "ids.npy").write_bytes(content)
    with pytest.raises(CorruptFile, match=reason):
        list(read(str(tmp_path / "ids.npy"), "npy", itemsize=2))


@pytest.mark.parametrize("offsets", [archive(), b"", saved([0, 3], "<f8"), saved([0, 3, 1, 3], "<u8")])
def test_no_offsets(tmp_path: Path, offsets: bytes) -> None:
    (tmp_path / "ids.npy").write_bytes(saved([1, 2, 3], "<u2"))
    (tmp_path / "ids.npy.offsets.npy").write_bytes(offsets)
    with pytest.raises(CorruptFile, match="does not fit"):
        list(read(str(tmp_path / "ids.npy"), "npy", itemsize=2))
