"""The errors for documents above a limit, which readers in Python and the engine raise: each limit has one message."""

from __future__ import annotations

from slmtok.errors import DocumentTooLarge, Setting


def document_too_large(where: str | None, limit: int) -> DocumentTooLarge:
    """The error for a document above `limit` bytes."""
    return DocumentTooLarge(
        f"a document has more than {limit:,} bytes",
        where=where,
        limit=(Setting("max_doc_bytes", limit),),
        fix=("divide it, with ", Setting("separator"), " for instance, or raise ", Setting("max_doc_bytes")),
        bytes=limit,
    )


def undivided_text(where: str | None, limit: int) -> DocumentTooLarge:
    """The error for more than `limit` bytes of a document without a sync point, which counting holds."""
    return DocumentTooLarge(
        f"a document has more than {limit:,} bytes between two places where it can be divided",
        where=where,
        limit=("a quarter of the share of ", Setting("memory"), " that a thread has, at most 1 GiB"),
        fix=("divide it, with ", Setting("separator"), " for instance, or raise ", Setting("memory")),
        bytes=limit,
    )
