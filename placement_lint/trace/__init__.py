"""Run a program, and see which uncommitted arrays JAX really copies, and at which lines.

`launch` starts the program in a process of its own, where `bootstrap` hooks JAX and writes what it
sees to a ledger; `record` reads the ledger, and `join` joins it with the findings of linting. Only
the modules that run in the traced process touch JAX, and only once the program has imported it.
"""
