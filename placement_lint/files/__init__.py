"""Files: bytes to source and back, notebooks, and which files a run reads.

`store` reads each file of a run once; `stamps` tell whether one was changed.

- Which files: `discovery`, `globs` and `wildmatch` (patterns), `folders`, `neighbours`,
  `test_paths`.
- From bytes to text: `opening`, `source`, `line_ends`, `python_tree`, `python_nodes`.
- Notebooks and scripts in cells: `notebook`, `notebook_json`, `script_cells`, `magics`.
- Writing: `write`, `temporary`.
"""
