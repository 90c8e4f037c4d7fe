"""Packages of others, linted: what is found in them, and mended, changes only when we say so."""
