"""JDP2: commitment, the heart: arrays that are copied because nothing holds them where they are."""
