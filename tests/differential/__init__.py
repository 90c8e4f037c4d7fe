"""Random programs, run both by the interpreter and by JAX: where they disagree, it is wrong."""
