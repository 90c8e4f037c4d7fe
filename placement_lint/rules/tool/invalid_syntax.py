"""JDP901."""

from __future__ import annotations

from placement_lint.findings import Severity
from placement_lint.prefilter.conditions import Never
from placement_lint.rules.base import Rule


class InvalidSyntax(Rule):
    """A file that could not be parsed.

    ## What it does
    Reports a file that LibCST cannot parse, with the position of the error; and a file whose
    expressions are nested or chained so deeply that parsing would exhaust the stack or the memory.

    ## Why is this bad?
    A file that was not parsed was not checked. This finding cannot be deselected or suppressed, and
    the exit code is not 0.

    ## Example
    ```text
    def load(path)
        return jnp.load(path)
    ```

    ## Use instead
    ```python
    import jax.numpy as jnp

    def load(path):
        return jnp.load(path)
    ```

    A file that is broken on purpose, such as a test's input, belongs in `exclude`.

    ## Fix safety
    No fix: only the author knows what was meant.

    ## What it does not flag
    Files that cannot contain a finding, because their bytes contain nothing that a rule looks for.
    They are not parsed, unless a line in them is so long that it looks like an attack. Syntax that
    is newer than the running Python: LibCST parses it on every version.

    ## Verified by
    The proof lints a file with a broken statement and gets this finding at its line. With the
    statement corrected it gets none.

    ## References
    - [LibCST#1000, #619, #980](https://github.com/Instagram/LibCST/issues): inputs that end the
      process
    """

    code, name = "JDP901", "invalid-syntax"
    advice = "Correct the syntax, or leave the file out with `exclude`"
    severity = Severity.ERROR
    follows_arrays = False
    needs = Never()

    @staticmethod
    def describe(reason: str) -> str:
        return f"invalid syntax: {reason}"
