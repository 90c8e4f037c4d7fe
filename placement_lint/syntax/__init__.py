"""Syntax: the one walk over a LibCST tree, what names mean in it, where nodes stand, text edits.

- From a text to a tree: `parse`, after `parser_guard`; `lean` makes the nodes from Python's own
  tree, `pieces` parses again what was edited, `annotated` what LibCST refuses. `python_parser` only
  asks whether there is a tree. `deep_stack` runs what recurses, `lazy` imports late, and
  `late_methods` and `late_patterns` compile late.
- The tree: `tree` (the walk), `node_types`, `positions`, `marimo_cells`, `programs`.
- Names: `names` (scopes and what a name stands for), `definitions`, `dotted`, `spelling`,
  `imports`, `import_statements`, `lifted_classes`.
- Expressions: `calls`, `collection_methods`, `guards`, `environ`. Tests: `pytest_fixtures`,
  `expected_failures`.
- Text without a tree: `code_text`, `code_digest`, `brackets_text`, `bindings_text`; with that of
  Python alone: `set_meshes`.
- Edits: `edits`, `wrapping`.
"""
