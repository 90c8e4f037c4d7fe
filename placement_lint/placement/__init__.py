"""Placement: an abstract interpreter that follows devices and commitment through code."""
