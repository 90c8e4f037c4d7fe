"""What the proofs of the tool's own rules observe with: the linter itself, in a subprocess."""

import subprocess
import sys
from pathlib import Path

from placement_lint.verify.observation import BlindInstrumentError, Observation

_TIME_LIMIT = 60.0
_LINT = """\
import runpy, sys
sys.argv[1:] = {arguments!r}
{before}
runpy.run_module("placement_lint", run_name="__main__", alter_sys=True)
"""


def findings(path: Path, code: str, *, before: str = "") -> Observation:
    """How many findings of a code the linter has for a file; the sign: at least one.

    before: Python code to run first in the linter's process. Raises BlindInstrumentError when
    the linter's exit status does not go with what it printed, so that a linter that does not
    start is not taken for one that finds nothing.
    """
    arguments = ["--isolated", path.name]
    command = [sys.executable, "-m", "placement_lint", *arguments]
    if before:
        command[1:] = ["-c", _LINT.format(arguments=arguments, before=before)]
    done = subprocess.run(
        command,
        cwd=path.parent,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=_TIME_LIMIT,
        check=False,
    )
    found = [line for line in done.stdout.splitlines() if f": {code} " in line]
    if "Traceback" in done.stderr or (done.returncode != 0) != bool(found):
        last = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        msg = f"the linter ended with status {done.returncode}: {last}"
        raise BlindInstrumentError(msg)
    return Observation(
        instrument="placement-lint",
        what=f"findings of {code} in {path.name}",
        measured=len(found),
        text=found[0] if found else "none, exit status 0",
        seen=bool(found),
        control="the exit status goes with what was printed",
    )
