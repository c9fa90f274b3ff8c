"""Tokenizers in the formats of other libraries: imports, exports, and the comparison of ids."""
