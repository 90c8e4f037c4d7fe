"""LibCST's nodes without whitespace and punctuation, made from the tree of Python's own parser.

To make them takes a fifth of the time in which LibCST parses. They are of LibCST's own classes, so
that whatever reads a tree reads these too: `tree` makes them, and `punctuation` adds to them what
they lack, for a file in which there is something to report.
"""
