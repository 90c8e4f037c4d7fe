"""JDP5: start-up order."""
