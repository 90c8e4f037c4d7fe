"""Linting: one file to findings, many files in a run, suppressions, and fixing."""
