"""Inputs that break linters, each beside good files: see `inputs.py`."""
