"""Fixes, judged by JAX: programs are run as they are and after fixing, and must do the same."""
