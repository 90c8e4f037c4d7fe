"""JDP4: transfers and memory."""
