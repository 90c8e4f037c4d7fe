"""JDP9: what the tool has to say about its own work."""
