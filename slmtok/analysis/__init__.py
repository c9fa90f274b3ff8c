"""What a tokenizer does to text, measured: proofs that nothing is lost, numbers to compare tokenizers by, differences.

A module here takes a tokenizer and documents and gives plain numbers; commands print them. Nothing here trains.
"""
