"""Measurements of tokenizers on text: proofs that nothing is lost, metrics, differences between two tokenizers.

A module takes tokenizers and documents and returns numbers; commands print them.
"""
