"""Syntax: the one walk over a LibCST tree, what names mean in it, where nodes stand, text edits."""
