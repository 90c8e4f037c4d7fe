"""What JAX does, as data: each row with the versions that it was measured on."""
