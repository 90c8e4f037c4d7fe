"""JDP3: device queries."""
