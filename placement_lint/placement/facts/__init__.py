"""Syntactic facts: what the text of one module says, before anything is interpreted."""
