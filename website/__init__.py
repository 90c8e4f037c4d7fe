"""The parts of the documentation that are written from what the package says of itself."""
