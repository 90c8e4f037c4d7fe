"""The engine: the evaluation of statements, expressions and calls."""
