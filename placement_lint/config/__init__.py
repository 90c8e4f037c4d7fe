"""Settings: what they are, where they are read from, and what is wrong with them."""
