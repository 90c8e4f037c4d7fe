"""Buffers that calls donate, followed along every way through a file: which are gone, and where.

`analysis` is the entry, `exported` says for other files what the names of one donate.

- One point of an execution: `buffers`, `parts` (what has an identity), `choices` (one of
  several), `meetings` (where ways meet).
- Execution, by classes of which each derives from that of the next module: `statements`, `loops`,
  `contexts` (also loops over functions), `assignments`, `iteration`, `calls`, `lineage` (what
  classes inherit), `takings` (what a call takes), `carried` (what donates as the interpreter knows
  it), `parameters`, `libraries`, `expressions`, `deletion_questions` (in conditions), `objects` (of
  which classes things are), `readings` (the state, and what is found). Beside them: `leading` (who
  may lead to a donation), `loop_counts` (how often a loop runs), `left_gone` (what one method
  leaves for others).
- What donates: `callables`, `outputs` (which arguments an output can replace), `replaced_names`.
"""
