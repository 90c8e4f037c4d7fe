"""Run a program, and see which uncommitted arrays JAX really copies, and at which lines.

- The process of placement-lint: `launch` starts the program, `record` reads what it left, `join`
  brings the findings to it; `text`, `as_json`, `page` and `words` write the report.
- The traced process: `bootstrap` and `program` start the program, `hooks` watch JAX, `recorder` and
  `ledger` keep what they see, with the line that `frames` finds. `imported` waits for packages,
  `emulation` stands in for an accelerator, `compilations`, `elsewhere`, `errors` and `reached` see
  the rest.
- `control` shows that the hooks see. `pytest_plugin` and `pytest_session` do all this for tests.

Only the modules that run in the traced process touch JAX, and only once the program has imported
it.
"""
