"""JDP80: buffers that calls donate."""
