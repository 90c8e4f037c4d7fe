"""Fixes: planned by rules, completed, applied until nothing changes, and written to files."""
