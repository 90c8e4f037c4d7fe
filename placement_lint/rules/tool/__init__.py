"""JDP9: diagnostics of the tool."""
