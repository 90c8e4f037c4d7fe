"""JDP2: commitment."""
