"""Buffers that calls donate, followed along every way through a file: which are gone, and where."""
