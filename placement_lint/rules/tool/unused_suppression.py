"""JDP902."""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.findings import Applicability, Severity
from placement_lint.prefilter.conditions import NAMED_SUPPRESSION
from placement_lint.rules.base import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence


class UnusedSuppression(Rule):
    """A suppression comment that suppresses nothing.

    ## What it does
    Reports the codes and names in `# noqa: JDP…`, `# placement-lint: …` and `# ruff: …` comments
    that suppress no finding, or that a comment contains twice; one finding per comment.

    ## Why is this bad?
    The mistake has been fixed, or has moved to another line. The comment would hide the next
    mistake on this line.

    ## Example
    ```python
    import jax

    cpu = jax.devices("cpu")[0]
    x = jax.device_put(1, cpu)  # noqa: JDP204
    ```

    ## Use instead
    ```python
    import jax

    cpu = jax.devices("cpu")[0]
    x = jax.device_put(1, cpu)
    ```

    ## Fix safety
    Safe if only codes are removed: a comment that contains nothing else is deleted. Unsafe if a
    reason after the brackets is removed with them.

    ## What it does not flag
    A bare `# noqa`, and codes of other tools. A comment that names a rule that this run did not
    check. In a run over single files, comments that may suppress findings which depend on files
    outside the run: comments about rules that follow an array from its caller, and every comment of
    a file that imports a file next to it that is not in the run. A file in which a rule failed
    (JDP903). A comment that names JDP902 itself.

    ## Verified by
    The proof lints a file with a comment that suppresses nothing and gets this finding. With the
    mistake added that the comment names, it gets none.

    ## References
    - [Ruff's rule of this kind](https://docs.astral.sh/ruff/rules/unused-noqa/): to keep it from
      judging our codes, set `external = ["JDP"]` in its settings
    """

    code, name = "JDP902", "unused-suppression"
    advice = "Remove the comment"
    severity = Severity.WARNING
    follows_arrays = False
    fix = Applicability.SAFE
    needs = NAMED_SUPPRESSION

    @staticmethod
    def describe(unused: Sequence[str], again: Sequence[str] = ()) -> str:
        """Return the message for what silences nothing, and for what a comment names once more."""
        of_no_use = f"{', '.join(unused)} suppresses nothing here" if unused else ""
        named_twice = f"{', '.join(again)} is named more than once" if again else ""
        return f"unused suppression: {'; '.join(filter(None, (of_no_use, named_twice)))}"
