"""Executes rows of the transfer table: what a function does with arrays, and what JAX says."""
