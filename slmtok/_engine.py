"""The one file that imports the compiled engine; every other module takes it from here."""

from slmtok._native import (
    UNICODE_VERSION,
    VERSION,
    Counter,
    Counts,
    DocumentReader,
    Documents,
    Encoder,
    Pattern,
    StreamDecoder,
    TrainResult,
    frequent_pieces,
    pattern_names,
    read_ranks,
    train,
)

__all__ = [
    "UNICODE_VERSION",
    "VERSION",
    "Counter",
    "Counts",
    "DocumentReader",
    "Documents",
    "Encoder",
    "Pattern",
    "StreamDecoder",
    "TrainResult",
    "frequent_pieces",
    "pattern_names",
    "read_ranks",
    "train",
]
