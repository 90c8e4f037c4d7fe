"""Incremental runs: the cache, its records, and which of them are still valid."""
