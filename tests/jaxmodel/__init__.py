"""Tests of what placement_lint.jaxmodel says of JAX."""
