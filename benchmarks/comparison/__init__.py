"""placement-lint beside its peers: trees of files, tools, their costs in turns, and a report."""
