"""The compiled engine, as `slmtok/_engine.py` sees it (no other module imports it).

Ids inside a training result are *internal*: bytes are 0..255, merge k makes 256 + k. An `Encoder` is told which public
id each internal one has. Whatever fails raises a class of `slmtok.errors`. Text goes in as `str` (its UTF-8) or as a
bytes-like object; a `str` with a lone surrogate raises `InvalidText` with its index.
"""

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_Text: TypeAlias = str | bytes | bytearray | memoryview
# A list, a tuple or a range is taken as it is, so that training needs no numpy.
_Numbers: TypeAlias = NDArray[np.uint32] | list[int] | tuple[int, ...] | range
_Pairs: TypeAlias = NDArray[np.uint32] | list[tuple[int, int]]
_Ids: TypeAlias = NDArray[np.uint16] | NDArray[np.uint32]
# Called at coarse steps with (stage, done, total); an exception that it raises, Ctrl-C among them, ends the work.
_Progress: TypeAlias = Callable[[str, int, int], object]

__all__ = [
    "MAX_REFUSALS",
    "UNICODE_VERSION",
    "VERSION",
    "Counter",
    "Counts",
    "DocumentPipeline",
    "DocumentReader",
    "Documents",
    "Encoder",
    "Pattern",
    "StreamDecoder",
    "TrainResult",
    "byte_automaton",
    "frequent_pieces",
    "merge_counts",
    "pattern_names",
    "prepare_arrays",
    "provoke_panic",
    "read_counts",
    "read_ranks",
    "report_fatal_signals",
    "train",
    "weighted_counts",
    "write_counts",
]

MAX_REFUSALS: int
UNICODE_VERSION: str
VERSION: str

def pattern_names() -> list[str]: ...
def prepare_arrays() -> None:
    """Fills the tables that the first array of numpy needs."""

def byte_automaton(regex: str) -> tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.bool_]]:
    """A regular expression as an automaton over bytes; state 0 is the start.

    Gives the class of each byte [256], the next state of each state and class [states * classes], 2^32 - 1 for none,
    and whether each state matches [states].

    Raises `InvalidPattern`, also for one that is too large.
    """

def read_ranks(data: bytes, limit: int) -> tuple[bytes | None, ...] | None:
    """The token of each rank in a rank file, None for ranks that no token has; None if anything is wrong with the file.

    Wrong is a line that is no token and rank, a rank from `limit` up, a token or rank that comes twice, a missing byte.
    """

def report_fatal_signals() -> None:
    """From now on the process ends with an error where it would end with SIGBUS: a mapped file that became shorter.

    For commands, not for libraries. Does nothing where the system has no such signal.
    """

def provoke_panic(message: str) -> None:
    """Raises `InternalError` by a real panic: what the test of the border needs."""

@final
class Pattern:
    """A compiled split pattern: a registered name, or any regex (one that spells a registered one gets its scanner)."""

    def __new__(cls, spec: str) -> Pattern: ...
    @property
    def name(self) -> str | None: ...
    @property
    def regex(self) -> str: ...
    def split(self, text: _Text) -> NDArray[np.uint64]:
        """Piece boundaries in bytes: n + 1 offsets, the first 0, the last the length of the text."""

    def gaps(self, text: _Text) -> tuple[int, int]:
        """(pieces, bytes) that the pattern does not match and that became pieces of their own."""

@final
class Counts:
    """How often each piece occurs: what training needs of a corpus. Immutable."""

    @staticmethod
    def from_items(
        pattern: Pattern, items: Sequence[tuple[builtins.bytes, int]], documents: int = 0, bytes: int = 0
    ) -> Counts: ...
    @property
    def pattern(self) -> Pattern: ...
    @property
    def documents(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def pieces(self) -> int: ...
    @property
    def distinct(self) -> int: ...
    @property
    def invalid_bytes(self) -> int: ...
    @property
    def invalid_documents(self) -> int: ...
    @property
    def first_invalid(self) -> tuple[int, int] | None:
        """(document index, byte offset in it) of the first byte that is not UTF-8."""

    @property
    def gap_pieces(self) -> int: ...
    @property
    def gap_bytes(self) -> int: ...
    @property
    def truncated_documents(self) -> int: ...
    @property
    def truncated_bytes(self) -> int: ...
    def items(self) -> list[tuple[builtins.bytes, int]]:
        """(piece, count), sorted by piece."""

    def visit_items(self, visit: Callable[[list[tuple[builtins.bytes, int]]], object], n: int) -> None:
        """Calls `visit` with up to `n` of the items at a time, so that they need not all be in memory."""

    def occurrences(self, needle: builtins.bytes) -> int:
        """How often `needle` occurs in the corpus, occurrences that cross pieces not counted."""

    def columns(self, update: Callable[[builtins.bytes], object]) -> None:
        """Calls `update` with blocks of the same in columns: lengths (u32), counts (u64, little-endian), all bytes."""

    @property
    def spills(self) -> tuple[int, int]:
        """(tables written to temporary files, bytes written)."""

    @property
    def merge_memory(self) -> int:
        """About how many bytes `train` will take, besides these counts."""

    def canonical(self) -> builtins.bytes:
        """What a digest of the counts is taken over.

        For each piece, in order: its length as u32, its bytes, its count as u64, little-endian."""

    def __len__(self) -> int: ...

@final
class Counter:
    """Counts pieces of documents given in any number of calls. The GIL is released while it counts."""

    def __new__(
        cls,
        pattern: Pattern,
        *,
        threads: int = 0,
        max_doc_chars: int | None = None,
        max_chars: int | None = None,
        max_bytes: int | None = None,
        budget: tuple[int, str] | None = None,
    ) -> Counter:
        """`budget`: bytes that the tables may take, and the folder for temporary files with what does not fit."""
    def feed(self, documents: Sequence[_Text]) -> bool:
        """Counts documents; False once `max_chars` or `max_bytes` is reached."""

    @property
    def documents(self) -> int:
        """Documents that have been counted."""

    def feed_documents(self, documents: Documents) -> bool:
        """The same for a batch, which may be a part of one document."""

    def feed_file(self, path: str, *, progress: _Progress | None = None) -> tuple[bool, bytes]:
        """The same for a file that is one document, and its sha256."""

    def finish(self) -> Counts: ...

# The body of a counts file: (path, its first byte, its end, column of the result by column of the file).
_Body: TypeAlias = tuple[str, int, int, Sequence[int]]
# (distinct pieces, pieces by column, distinct pieces that were pruned, pieces of theirs by column)
_Sums: TypeAlias = tuple[int, list[int], int, list[int]]

def write_counts(columns: Sequence[Counts], write: Callable[[bytes], object]) -> _Sums:
    """Calls `write` with the body of a counts file, block by block: docs/formats/counts.md."""

def merge_counts(files: Sequence[_Body], columns: int, min_count: int, write: Callable[[bytes], object]) -> _Sums:
    """The same for the sum of files. Pieces that occur less than `min_count` times in all columns are left out."""

def read_counts(files: Sequence[_Body], columns: int, pattern: Pattern, max_bytes: int) -> list[Counts]:
    """The columns of the sum of files; of their totals only `pieces` is set. Raises `CorruptFile`, `CountOverflow`."""

def weighted_counts(pattern: Pattern, parts: Sequence[tuple[Counts, int]]) -> Counts:
    """The sum of counts, each times its weight; of its totals only `pieces` is set."""

# A position in a file: offset in decompressed bytes, line from 1, and the compressed and decompressed bytes before the
# last point at or before it from which decompression can start.
_Position: TypeAlias = tuple[int, int, int, int]

@final
class Documents:
    """A batch of documents end to end in one buffer, with the sha256 of each. Immutable."""

    def __new__(cls, texts: Sequence[_Text]) -> Documents: ...
    @staticmethod
    def from_columns(columns: Sequence[tuple[NDArray[np.uint8], NDArray[np.int64]]]) -> Documents:
        """The documents of columns: bytes, and where in them each document begins, then where the last one ends.

        `ValueError` where these are not ascending positions; for strided arrays too."""

    @property
    def chunk(self) -> int:
        """Number of the chunk of the file that they come from."""

    @property
    def begin(self) -> _Position:
        """Where that chunk begins."""

    @property
    def end(self) -> _Position:
        """Where the next chunk begins."""

    @property
    def nbytes(self) -> int:
        """Bytes of text in the batch."""

    @property
    def skips(self) -> list[int]:
        """For each skipped record, the number of documents of the batch before it."""

    @property
    def error(self) -> BaseException | None:
        """What the fallback parser raised for the record after these documents."""

    @property
    def continued(self) -> int:
        """Bytes of the first document that earlier batches hold."""

    @property
    def partial(self) -> bool:
        """Whether the last document continues in the next batch; its length does not count it."""

    @property
    def data(self) -> bytes:
        """A copy of all bytes."""

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Start of each document in `data`, then its length: n + 1 of them."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Bytes of each document, those in earlier batches included."""

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Line or record number of each document, from 1."""

    @property
    def digests(self) -> bytes:
        """sha256 of each, 32 bytes per document."""

    @property
    def digest(self) -> bytes:
        """The sum of all digests modulo 2^256, most significant byte first."""

    def occurrences(self, needle: bytes) -> NDArray[np.int64]:
        """How often `needle` occurs in each document."""

    def select(self, indices: Sequence[int]) -> Documents:
        """A copy of some documents. `IndexError` where one does not exist."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> bytes: ...

@final
class DocumentReader:
    """The documents of one file, in chunks of whole documents that depend on its bytes alone.

    Threads that call `next` at the same time get different chunks; the GIL is released."""

    def __new__(
        cls,
        source: str | Callable[[int], bytes],
        format: Literal["text", "jsonl", "records"],
        *,
        terminator: bytes | None = None,
        key: bytes | None = None,
        fallback: Callable[[bytes, int], bytes | Literal[False] | None] | None = None,
        compression: Literal["plain", "gz", "zst", "xz"] = "plain",
        chunk_bytes: int = ...,
        first_chunk: int = 0,
        start: _Position | None = None,
        max_doc_bytes: int | None = None,
        name: str = "stdin",
    ) -> DocumentReader:
        """`source`: a path, or a function that returns at most n bytes of a stream. `format`: "text" splits at
        `terminator`, or without one reads the file as one document, in parts; "jsonl" takes the field `key` of each
        line; "records" gives each line to `fallback`. `fallback(line, number)` parses lines that the engine cannot:
        it returns the document, None to skip the record, False for a line without a record. Chunk k holds the documents
        that begin in bytes k * chunk_bytes to (k + 1) * chunk_bytes of the text; chunks before `first_chunk` are
        skipped. `start`: where a batch of the same file began or ended. `max_doc_bytes`: the largest document that
        does not come in parts, or line of a record; a larger one raises `DocumentTooLarge`. `name`: of a
        stream, for errors."""

    @property
    def bytes_read(self) -> int:
        """Bytes of the file that have been read, before decompression."""

    def __iter__(self) -> DocumentReader: ...
    def __next__(self) -> Documents: ...

@final
class DocumentPipeline:
    """The batches of several sources in order; reading, parsing and encoding run on several threads."""

    def __new__(
        cls,
        sources: Iterable[DocumentReader | Iterator[Documents]],
        *,
        threads: int,
        encoder: Encoder | None = None,
        encode_threads: int = 1,
        bos: int | None = None,
        eos: int | None = None,
    ) -> DocumentPipeline:
        """With 0 threads everything runs in `next`. `encode_threads` work on one batch."""

    def __iter__(self) -> DocumentPipeline: ...
    def __next__(self) -> tuple[int, Documents, tuple[_Ids, NDArray[np.int64]] | None]:
        """(index of the source, its documents, their ids and offsets)."""

    def close(self) -> None:
        """Stops the threads; waits for their current batches."""

@final
class TrainResult:
    @property
    def merges(self) -> NDArray[np.uint32]:
        """(n, 2) internal ids."""

    @property
    def counts(self) -> NDArray[np.uint64]:
        """How often each merge's pair occurred when it was chosen."""

    @property
    def merge_list(self) -> list[tuple[int, int]]:
        """The same as `merges`, without numpy."""

    @property
    def count_list(self) -> list[int]:
        """The same as `counts`, without numpy."""

    @property
    def reused(self) -> list[tuple[int, int]]:
        """(merge, special): merges that took no slot of their own (tie break "hf")."""

    @property
    def refused(self) -> list[tuple[bytes, str, int]]:
        """(token, option that refused it, count), in the order in which they came up."""

    @property
    def required_merges(self) -> int: ...
    @property
    def stopped(self) -> Literal["full", "no pairs", "min_count"]: ...
    @property
    def next_count(self) -> int:
        """Count of the best pair left when the run ended, 0 if none."""

    @property
    def stats(self) -> dict[str, int]: ...

def train(
    counts: Counts,
    n_merges: int,
    *,
    tie_break: Literal["rank", "bytes-greatest", "hf"] = "rank",
    min_count: int = 2,
    max_token_bytes: int = 0,
    max_token_chars: int = 0,
    forbid: str | None = None,
    require: Sequence[bytes] = ...,
    specials: Sequence[bytes] = ...,
    replay: Sequence[tuple[int, int, int | None]] = ...,
    progress: _Progress | None = None,
) -> TrainResult:
    """`replay`: merges to begin with, in internal ids, each with the index of the special whose id it takes, if any."""

def frequent_pieces(
    counts: Counts,
    n: int,
    *,
    min_count: int = 2,
    max_token_bytes: int = 0,
    max_token_chars: int = 0,
    forbid: str | None = None,
    require: Sequence[bytes] = ...,
) -> tuple[list[bytes], list[int], list[tuple[bytes, str, int]]]:
    """(tokens, counts, refused): the most frequent pieces of two bytes or more, by count descending, then by bytes; the
    vocabulary of `word` and `char`. Required ones come first."""

@final
class Encoder:
    """Immutable; its caches change speed, never a result."""

    @staticmethod
    def from_merges(
        pattern: Pattern,
        merges: _Pairs,
        public_ids: _Numbers,
        *,
        specials: Sequence[tuple[int, bytes]] = ...,
        non_emitting: Sequence[int] = ...,
    ) -> Encoder:
        """`public_ids[i]` is the public id of internal id i (256 + n of them). `non_emitting` internal ids are never
        returned; their two parts are returned instead."""

    @staticmethod
    def from_tokens(
        pattern: Pattern,
        tokens: Sequence[bytes],
        public_ids: _Numbers,
        *,
        specials: Sequence[tuple[int, bytes]] = ...,
    ) -> Encoder:
        """A piece that is a token gets its id, every other piece the ids of its bytes."""

    @staticmethod
    def from_ranks(
        pattern: Pattern,
        tokens: Sequence[bytes],
        ids: NDArray[np.uint32],
        *,
        specials: Sequence[tuple[int, bytes]] = ...,
    ) -> Encoder:
        """tiktoken's rule. `tokens` in the order of their ranks, all 256 bytes among them; InvalidRanks if pair merges
        cannot do the same."""

    def longest_match(self) -> Encoder | None:
        """The encoder of the same vocabulary that takes always the longest token that fits; None without merges."""

    @property
    def pattern(self) -> Pattern: ...
    @property
    def n_vocab(self) -> int:
        """Largest id + 1."""

    @property
    def wide(self) -> bool:
        """Whether ids are uint32 (n_vocab > 65536)."""

    def encode(self, text: _Text) -> _Ids: ...
    def encode_list(self, text: _Text) -> list[int]: ...
    def encode_batch(
        self,
        documents: Sequence[_Text],
        *,
        threads: int = 0,
        bos: int | None = None,
        eos: int | None = None,
        progress: _Progress | None = None,
    ) -> tuple[_Ids, NDArray[np.int64]]: ...
    def encode_lines(
        self,
        documents: Sequence[_Text],
        write: Callable[[bytes], object],
        *,
        threads: int = 0,
        bos: int | None = None,
        eos: int | None = None,
        progress: _Progress | None = None,
    ) -> int:
        """The number of ids; as decimal numbers, a line a document, they go to `write` in blocks."""

    def encode_documents(
        self,
        documents: Documents,
        *,
        threads: int = 0,
        bos: int | None = None,
        eos: int | None = None,
        progress: _Progress | None = None,
    ) -> tuple[_Ids, NDArray[np.int64]]:
        """As `encode_batch`, without an object for each document."""

    def encode_with_dropout(
        self,
        documents: Documents,
        rates: NDArray[np.float64],
        *,
        seed: int = 0,
        epoch: int = 0,
        threads: int = 0,
        bos: int | None = None,
        eos: int | None = None,
        progress: _Progress | None = None,
    ) -> tuple[_Ids, NDArray[np.int64]]:
        """As `encode_documents`, with the probability for each document that a merge is skipped."""

    def count_batch(self, documents: Sequence[_Text], *, threads: int = 0) -> NDArray[np.int64]: ...
    def encode_files(
        self,
        paths: Sequence[str],
        out: str,
        *,
        document: Literal["file", "line"] = "file",
        threads: int = 0,
        bos: int | None = None,
        eos: int | None = None,
        max_doc_bytes: int = ...,
        progress: _Progress | None = None,
    ) -> NDArray[np.int64]:
        """Writes the flat ids, little-endian, to the new file `out` and returns the n + 1 document offsets."""

    def decode_bytes(self, ids: object) -> bytes:
        """`ids`: an array of u16, u32 or i64, or a sequence of int. A special gives its text. Raises `UnknownId`."""

    def decode_batch(self, ids: object, offsets: NDArray[np.int64], *, threads: int = 0) -> list[bytes]: ...
    def token_bytes(self, id: int) -> bytes: ...
    def token_id(self, token: bytes) -> int | None:
        """Ordinary tokens only; a special's spelling is not a token."""

    def byte_lengths(self) -> NDArray[np.uint32]:
        """Bytes of text that each id stands for, shape (n_vocab,); 0 for specials and holes."""

    def parts(self, id: int) -> tuple[int, int] | None:
        """The two public ids that a merge joined."""

    def unreachable(self) -> list[int]:
        """Ids that encoding never gives, because their own bytes encode to something else."""

    def stats(self) -> dict[str, int]: ...

@final
class StreamDecoder:
    """Text as soon as it is complete; each maximal ill-formed part becomes one U+FFFD.

    An unknown id raises `UnknownId` and changes nothing."""

    def __new__(cls, encoder: Encoder) -> StreamDecoder: ...
    def push(self, id: int) -> str: ...
    def finish(self) -> str: ...
