"""JDP904."""

from __future__ import annotations

from placement_lint.findings import Applicability, Severity
from placement_lint.prefilter.conditions import NAMED_SUPPRESSION
from placement_lint.rules.base import Rule


class UnknownCodeInSuppression(Rule):
    """A suppression comment that names an unknown rule.

    ## What it does
    Reports a code or name in `# noqa: JDP…` or `# placement-lint: ignore[…]` that is not that of a
    rule, and a `# placement-lint: ignore` without one.

    ## Why is this bad?
    The comment suppresses nothing, although it was meant to: a code was mistyped, or belongs to a
    newer version.

    ## Example
    ```python
    import jax

    jax.device_put(1, jax.devices()[0])  # placement-lint: ignore[device-put-discard]
    ```

    ## Use instead
    ```python
    import jax

    jax.device_put(1, jax.devices()[0])  # placement-lint: ignore[device-put-discarded] a probe
    ```

    ## Fix safety
    Unsafe: it writes the nearest code or name, if there is a similar one, which may not be the
    intended one.

    ## What it does not flag
    Codes of other tools in `# noqa`, and a bare `# noqa`, which belongs to other tools too.

    ## Verified by
    The proof lints a file with a mistyped name in such a comment, and gets this finding and the one
    that was not suppressed. With the name corrected it gets neither.

    ## References
    - [Ruff's rule of this kind](https://docs.astral.sh/ruff/rules/invalid-rule-code/)
    """

    code, name = "JDP904", "unknown-code-in-suppression"
    advice = "Write the code of a rule that exists: `placement-lint rule` lists them"
    severity = Severity.WARNING
    follows_arrays = False
    fix = Applicability.UNSAFE
    needs = NAMED_SUPPRESSION

    @staticmethod
    def describe(selector: str, nearest: str | None) -> str:
        """Return the message for what is that of no rule; for nothing at all, where it is empty."""
        if not selector:
            return "this comment suppresses nothing: name the rules, as in ignore[JDP204]"
        hint = f"; did you mean {nearest}?" if nearest else ""
        return f"no rule is called {selector!r}: it suppresses nothing{hint}"
