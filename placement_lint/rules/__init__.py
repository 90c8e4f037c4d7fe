"""The rules: one claim a file, in a folder for each family.

- What a rule is: `base`. A short one to begin with: `commitment.device_put_discarded`.
- What a rule sees of a file, and how it reports: `context`; how an array got to a finding:
  `journey`.
- Which rules there are: `registry`, and which of them check a file: `selection`, `treatment`.
- What is written of them: `pages`, `proved` and `proof_records`, `needed`, `redirects`.

Modules of a family that define no rule hold what several of its rules ask.
"""
