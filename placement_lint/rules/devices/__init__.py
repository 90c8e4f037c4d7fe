"""JDP3: asking which devices there are."""
