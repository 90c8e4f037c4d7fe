"""Linting: one file to findings, many files in a run, suppressions, and fixing.

`linter` is the entry for everybody.

- A run: `run` decides what is done, `select_files` which files can hold a finding, `schedule` in
  which order and process they are checked (`pool`, `tasks`, `progress`, `gc_pause`).
- A check: `check_program` for files that are interpreted together (`uncalled`), `check_file` for
  one (`parsing`).
- Results: `file_results` for a file, `results` for a run.
- Questions of editors: `file_queries`, `lookup`.
- What is done with findings: `fixes`, `suppressions`; what is kept of them: `incremental`.
"""
