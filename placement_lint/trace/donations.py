"""Which line donated the array whose use ends the program: JAX says only that it is deleted.

Runs in the traced process.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType, TracebackType

    from placement_lint.trace.frames import Frames, Site
    from placement_lint.trace.recorder import Recorder

_DELETED = re.compile(r"has been deleted|deleted or donated|previously donated")
"""What JAX's errors say, RuntimeError and ValueError, on 0.4.30 to 0.12."""
_MOST = 1000
"""Arrays that are asked whether they are deleted."""


def explainer(
    recorders: Sequence[Recorder], frames: Frames
) -> Callable[[BaseException], str | None]:
    """Return what explains an error that ends the program, by what was seen until then."""

    def explain(error: BaseException) -> str | None:
        for recorder in recorders:
            with recorder.ours():
                return explained(error, recorder, frames)
        return None

    return explain


def explained(error: BaseException, recorder: Recorder, frames: Frames) -> str | None:
    """Return where the array was donated that an error is about; None where that is not known."""
    if not isinstance(error, RuntimeError | ValueError) or not _DELETED.search(str(error)):
        return None
    every = list(_tracebacks(error.__traceback__))
    own = [each for each in every if frames.user_file(each.tb_frame.f_code.co_filename)]
    if not own:
        return None
    sites: set[Site] = set()
    # JAX's own frames hold that very array; where it is called from Python no more, those of the
    # program do.
    for each in (*reversed(every[every.index(own[-1]) + 1 :]), own[-1]):
        sites = {site for array in _arrays(each.tb_frame) if (site := recorder.donor(array))}
        if sites:
            break
    if len(sites) != 1:
        return None
    used = own[-1]
    (site,) = sites
    place = frames.user_file(used.tb_frame.f_code.co_filename) or ""
    return (
        f"placement-lint trace: {_short(place)}:{used.tb_lineno} uses an array that is deleted: "
        f"it was donated at {_short(site.path)}:{site.line}"
    )


def _tracebacks(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _arrays(frame: FrameType) -> Iterator[Any]:
    """Yield the arrays of JAX in the variables of a frame, and in lists, tuples and dicts there."""
    import jax

    pending = list(frame.f_locals.values())
    for _ in range(_MOST):
        if not pending:
            return
        value = pending.pop()
        if isinstance(value, list | tuple):
            pending += value
        elif isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer):
            yield value


def _short(path: str) -> str:
    """Return a path as people write it: relative where it is below the current directory."""
    here = os.getcwd() + os.sep  # noqa: PTH109
    return path.removeprefix(here)
