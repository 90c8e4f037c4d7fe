"""JDP1: configuration and context managers."""
