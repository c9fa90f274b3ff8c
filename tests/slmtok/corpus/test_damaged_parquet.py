"""Parquet with damaged or encrypted columns: an error, where pyarrow would end the process."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slmtok import errors
from slmtok.corpus import read
from slmtok.options import ReadOptions

TABLE = pa.table({"text": [f"the cat {row}" for row in range(100)], "id": list(range(100))})
DAMAGES = {
    "type": (b"\x15\x0c\x19", b"\x15\x3c\x19"),
    "name": (b"\x04text", b"\x04t\x80xt"),
}
"""Bytes of a footer, and what stands for the last of them."""

READ = """
import json, sys
from slmtok import errors
from slmtok.corpus import read
from slmtok.options import ReadOptions

found = {}
for path in sys.argv[1:]:
    try:
        found[path] = sum(1 for _ in read([path], ReadOptions()))
    except errors.Unreadable as error:
        found[path] = str(error)
print(json.dumps(found))
"""

THROWN_BESIDE_THE_ENGINE = """
import sys
import slmtok
from slmtok.corpus.parquet_footer import ParquetFooter

ParquetFooter.is_null = lambda footer, _: footer._metadata.row_group(0).column(0).statistics
slmtok.count(sys.argv[1])
"""


def damaged(folder: Path, name: str) -> Path:
    path = folder / f"{name}.parquet"
    pq.write_table(TABLE, path)
    before, found, after = path.read_bytes().rpartition(DAMAGES[name][0])
    assert found
    path.write_bytes(before + DAMAGES[name][1] + after)
    return path


def encrypted(folder: Path, column: str) -> Path:
    """A file that lists all its columns, one of them encrypted."""
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):  # type: ignore[misc,name-defined]
        def __init__(self, _: object) -> None:
            super().__init__()

        def wrap_key(self, key: bytes, _: str) -> bytes:
            return base64.b64encode(key)

    path = folder / f"encrypted_{column}.parquet"
    keys = encryption.EncryptionConfiguration("footer", column_keys={"key": [column]}, plaintext_footer=True)
    properties = encryption.CryptoFactory(Keys).file_encryption_properties(encryption.KmsConnectionConfig(), keys)
    with pq.ParquetWriter(path, TABLE.schema, encryption_properties=properties) as writer:
        writer.write_table(TABLE)
    return path


def test_columns_that_pyarrow_cannot_read_end_no_process(tmp_path: Path) -> None:
    paths = [*(damaged(tmp_path, name) for name in DAMAGES), *(encrypted(tmp_path, name) for name in ("text", "id"))]
    command = [sys.executable, "-c", READ, *map(str, paths)]
    ran = subprocess.run(command, check=True, capture_output=True, timeout=60)
    types, name, text, other = json.loads(ran.stdout).values()
    assert "two types: BYTE_ARRAY and UNKNOWN" in types
    assert "cannot read" in name and "fetch the file again" in name
    assert "Cannot decrypt" in text and "without encryption" in text
    assert other == len(TABLE)


@pytest.mark.skipif(sys.platform != "linux", reason="how exceptions of C++ unwind")
def test_an_exception_of_a_library_that_nothing_catches_ends_the_process(tmp_path: Path) -> None:
    """The thread that it unwinds holds the GIL: the process would wait for it, deaf to signals."""
    command = [sys.executable, "-c", THROWN_BESIDE_THE_ENGINE, str(damaged(tmp_path, "type"))]
    ran = subprocess.run(command, check=False, capture_output=True, timeout=60)
    assert ran.returncode < 0
    assert b"a library that Python called threw an exception of C++" in ran.stderr


def test_a_page_with_a_wrong_checksum_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path, write_page_checksum=True, compression="none", use_dictionary=False)
    path.write_bytes(path.read_bytes().replace(b"the cat 50", b"the bat 50", 1))
    with pytest.raises(errors.Unreadable, match="CRC checksum verification failed"):
        list(read([str(path)], ReadOptions()))
