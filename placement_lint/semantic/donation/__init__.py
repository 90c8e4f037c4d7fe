"""Buffers that calls donate, followed along every way through a file: which are gone, and where.

`analysis` is the entry, `exported` says for other files what the names of one donate.

- One point of an execution: `buffers`, `parts` (what has an identity), `choices` (one of
  several), `meetings` (where ways meet).
- Execution: `statements`, `turns` (of loops), `expressions`, `calls`, `parameters`, `libraries`,
  `readings` (the state, and what is found), `left_gone` (what one method leaves for others).
- What donates: `callables`, `carried` (as the interpreter knows it), `takings` (what a call takes),
  `outputs` (which arguments an output can replace), `replaced_names`.
"""
