"""JDP7: meshes and shardings."""
