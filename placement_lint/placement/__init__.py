"""Placement: an abstract interpreter that follows devices and commitment through code.

- `flow` is what rules see of the results; `journeys` and `provenance` say where arrays come from.
- `interpreter` connects the parts: `domain` has the values, `facts` what the text of a module says
  before it is executed, `engine` evaluates statements, expressions and calls, and `overlays` are
  models of library functions. `uncalled` executes what nothing calls.
- `counterfactual` executes the program again with a fix supposed.
"""
