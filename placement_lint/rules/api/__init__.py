"""JDP6: deprecated and removed APIs."""
