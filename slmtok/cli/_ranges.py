"""`--docs 3:5`: which documents, as Python slices count."""

from __future__ import annotations

from slmtok.errors import InvalidOption


def chosen(n: int, docs: str | None, where: str) -> range:
    """The numbers that `docs` (`3:5`, `3:`, `:5`, `3`, negative ones from the end) means of `n` documents; None: all.

    `where` names what holds them. Raises `InvalidOption` for what is no range, and for one without documents.
    """
    if docs is None:
        return range(n)
    first, colon, last = docs.partition(":")
    try:
        start, stop = int(first) if first else 0, int(last) if last else n
    except ValueError:
        raise InvalidOption(
            f"--docs {docs!r} is no range of documents",
            where="slmtok decode",
            limit="A:B counts from 0 and leaves B out, as in Python",
            fix="--docs 3:5",
            option="docs",
        ) from None
    if not colon:
        stop = start + 1 or n
    found = range(n)[start:stop]
    if not len(found):
        raise InvalidOption(
            f"--docs {docs} is none of the documents",
            where=where,
            limit=f"0 to {n - 1}",
            fix=f"--docs {max(0, n - 2)}:{n}",
            option="docs",
        )
    return found
