"""JDP6: parts of the placement API that are old, by version."""
