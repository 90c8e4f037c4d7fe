"""Overlays: models of the functions of JAX, of the standard library and of other libraries."""
