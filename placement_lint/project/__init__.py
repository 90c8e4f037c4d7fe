"""The project: the files of a run as modules of one program, and what they import.

`project` makes the parts for one run.

- Imports: `modules` (which file a name leads to), by `module_places` (where files lie),
  `sibling_imports` (of scripts in packages) and `roots` (the packages that rules know);
  `exporters` (which may pass on a name of JAX), `bindings`, `imported_names` (for the prefilter),
  `graph`, `large_packages`.
- What a file says by itself: `file_facts`, `program_texts`, `passing_names`, `open_files`,
  `file_budgets`.
- What importing executes: `ast_summary`, `import_effects`.
- Which files are interpreted together: `placing_files`, `sharing_files`, `small_programs`.
- What rules ask about other files: `program_view`, which asks `functions_elsewhere`, `given_files`,
  `types_elsewhere` and `donations_elsewhere` (by `donating_files` and `donating_names`). `queries`
  notes what was asked, `dependencies` keeps it.
- What files are for: `target` (versions of JAX), `platform` (programs of the CPU), `test_fixtures`
  (which tests a `conftest.py` serves).
"""
