"""The rules: one claim a file, in a folder for each family."""
