"""What a run may take of the machine, and what keeps it to that."""
