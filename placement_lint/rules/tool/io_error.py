"""JDP900."""

from __future__ import annotations

from placement_lint.findings import Severity
from placement_lint.prefilter.conditions import Never
from placement_lint.rules.base import Rule


class IoError(Rule):
    r"""A file that could not be read, checked to the end, or written.

    ## What it does
    Reports a file that cannot be opened, or whose bytes are not text in the encoding that it
    declares (UTF-8, where it declares none). With `--fix` it also reports a file that could not be
    written, because it or its directory is read-only, the disk is full, another program has changed
    it since it was read, or it has other names (hard links), which would keep the old text. Such a
    file is not changed, and neither are the files that a fix would have edited together with it.

    A file that takes more CPU time than `file-time-limit` allows (60 seconds by default), or during
    whose analysis the process takes more memory than `memory-limit` allows, is not checked to the
    end. Findings up to that point are reported as well. If several files are analysed as one
    program, the others are analysed again without that file; those that it imports or that import
    it have this finding too. When the whole run has taken more CPU time than `time-limit` allows,
    each file that is not checked by then has this finding.

    ## Why is this bad?
    A file that was not read was not checked. If it were skipped silently, the run would report no
    findings for code that was never checked. So this is a finding that cannot be deselected or
    suppressed, and the exit code is not 0.

    ## Example
    A file saved as Latin-1 without a declaration:

    ```text
    # byte 0xE9 where UTF-8 expects more: é in Latin-1
    name = "Andr\xe9"
    ```

    ## Use instead
    Save the file as UTF-8, or declare its encoding in the first line:

    ```python
    # -*- coding: latin-1 -*-
    ```

    A file that is meant to be unreadable, such as a test's input, belongs in `exclude`.

    ## Fix safety
    No fix: only the author knows the encoding that was meant, and why a file may not be written.

    ## What it does not flag
    Files that the settings exclude, and files of other types in a directory.

    ## Verified by
    The proof lints a file with such bytes and gets this finding. With the same text in UTF-8 it
    gets none.

    ## References
    - [PEP 263: source code encodings](https://peps.python.org/pep-0263/)
    """

    code, name = "JDP900", "io-error"
    advice = "Check that the file exists, and can be read and written"
    severity = Severity.ERROR
    follows_arrays = False
    needs = Never()

    @staticmethod
    def describe(reason: str) -> str:
        return f"cannot be read: {reason}"

    @staticmethod
    def describe_time_up(seconds: int, what: str = "checked to the end") -> str:
        """Return the message for a file that took more CPU time than it may."""
        return f"not {what}: it took more than {seconds} s of CPU time (`file-time-limit`)"

    @staticmethod
    def describe_memory_up(megabytes: int, what: str = "checked to the end") -> str:
        """Return the message for a file that took more memory than it may."""
        return f"not {what}: it took more than {megabytes} MB of memory (`memory-limit`)"

    @staticmethod
    def describe_run_over(seconds: int) -> str:
        """Return the message for a file that was not checked when the time of the run was over."""
        return (
            f"not checked to the end: the run took more than {seconds} s of CPU time (`time-limit`)"
        )

    @staticmethod
    def describe_incomplete(path: str) -> str:
        """Return the message for a file that was checked without one that it has to do with."""
        return f"checked without `{path}`, which is not checked to the end: findings may be missing"

    @staticmethod
    def describe_unwritten(reason: str) -> str:
        return f"cannot be fixed: {reason}"
