"""Syntactic facts: what the text of one module says, before anything is interpreted.

- `module` has them all, of one module.
- Functions: `compiled`, `traced`, `traced_results`, `decorators`, `functions_text`,
  `carried_names` (of loops).
- Arrays: `annotations`, `array_indices`, `array_parts`, `static_fields` (that hold none). Objects:
  `generated_fields`, `optional_attributes`.
- Placement: `placing_words`, `cpu_pin` and `pin_callers`, `default_updates`.
- What others may import: `exported`. Whether the text is what runs: `tampering`,
  `replaced_functions` (by tests).
"""
