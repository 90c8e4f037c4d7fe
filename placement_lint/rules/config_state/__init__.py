"""JDP1: the State objects of JAX's configuration, and the contexts that they make."""
