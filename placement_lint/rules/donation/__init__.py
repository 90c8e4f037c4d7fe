"""JDP8: buffers that calls donate."""
