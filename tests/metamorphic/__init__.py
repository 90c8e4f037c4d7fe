"""Programs written another way, which mean the same: the same must be found in them."""
