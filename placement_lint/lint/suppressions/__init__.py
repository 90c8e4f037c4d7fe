"""Suppressions: `noqa` comments, those that are unused, and baselines."""
