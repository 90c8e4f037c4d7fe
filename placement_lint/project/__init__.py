"""The project: the files of a run as modules of one program, and what they import."""
