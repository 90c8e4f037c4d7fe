"""JDP903."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from placement_lint.findings import Severity
from placement_lint.prefilter.conditions import Never
from placement_lint.rules.base import Rule
from placement_lint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class InternalError(Rule):
    """A bug in placement-lint.

    ## What it does
    Reports that a rule, or the analysis of a file, failed with an exception: which rule, which
    version, and the place in placement-lint's own code. All other rules, files and fixes are
    processed as usual. The exit code of the run is 2. If a process of placement-lint dies while it
    checks a file, that file is reported in the same way.

    It also reports fixes that were reverted. After each round, `--fix` checks that the file still
    parses, that it compiles if it did before, that its encoding can represent it, and that the
    rounds come to an end. If one of these checks fails, the file is not changed (and neither are
    the files that a fix would have edited together with it), and the message names the rules of
    those fixes.

    ## Why is this bad?
    Findings of this rule in this file may be missing, because of a bug in placement-lint.

    ## Example
    ```text
    train.py:1:1: JDP903 internal error in JDP201 (placement-lint 0.1.0, KeyError at flow.py:120)
    ```

    ## Use instead
    Please report the message and, if you can, the lines that cause it; the message never contains
    your code. Until the bug is fixed, `--ignore` the rule that it names.

    ## Fix safety
    No fix: the bug is not in your code.

    ## What it does not flag
    Code that cannot be parsed (JDP901) or files that cannot be read (JDP900).

    ## Verified by
    The proof lints a hazard with a rule that raises, and gets this finding and those of the other
    rules. Without that rule, it gets only the latter.

    ## References
    - [The issue tracker](https://github.com/placement-lint/placement-lint/issues)
    """

    code, name = "JDP903", "internal-error"
    advice = "Report it, with the lines that the message names"
    severity = Severity.ERROR
    follows_arrays = False
    needs = Never()

    @staticmethod
    def describe(rule: type[Rule] | None, error: Exception) -> str:
        """Return the message: the rule, the version, the kind of error, and where in our own code.

        The error's own text is left out, because it may quote the user's code.
        """
        # By hand: of a recursion without end, `traceback.extract_tb` takes minutes.
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        file = "" if last is None else PurePath(last.tb_frame.f_code.co_filename).name
        place = "" if last is None else f" at {file}:{last.tb_lineno}"
        culprit = f" in {rule.code}" if rule else ""
        kind = type(error).__name__
        return (
            f"internal error{culprit} (placement-lint {__version__}, {kind}{place}); "
            "please report it"
        )

    @staticmethod
    def describe_death() -> str:
        """Return the message for a file on which a process died: of it, or killed from outside."""
        return (
            f"internal error (placement-lint {__version__}): the process that checked this file "
            "died; please report it, unless it ran out of memory"
        )

    @staticmethod
    def describe_taken_back(codes: Iterable[str], reason: str, others: Sequence[str] = ()) -> str:
        """Return the message for fixes of these rules that were taken back, here and in others."""
        where = f", here and in {', '.join(others)}" if others else ""
        return (
            f"the fixes of {', '.join(codes)} were reverted{where}: {reason} "
            f"(placement-lint {__version__}); please report it"
        )
