"""Vocabularies in the formats of other projects, read into ours (and, where it says so, written)."""
