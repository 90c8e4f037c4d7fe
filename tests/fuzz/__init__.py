"""Inputs that nobody wrote, and what must hold for each of them: `python -m tests.fuzz --help`."""
