"""Which line of the program led to an error of JAX that ends it, where JAX does not say.

That is the line that donated an array which is used (JAX says that it is deleted), or the one that
put an array on one device which meets others on a mesh (JAX says which devices).

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
_INCOMPATIBLE = "Received incompatible devices for jitted computation"
"""What JAX's ValueError says, on 0.4.30 to 0.12, where committed operands are on other devices."""
_OF_A_MESH = re.compile(r"device ids \[\d+, ")
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
    """Return what led to an error; None where that is not known."""
    if isinstance(error, RuntimeError | ValueError) and _DELETED.search(str(error)):
        return _donated(error, recorder, frames)
    if isinstance(error, ValueError) and _INCOMPATIBLE in str(error):
        return _mixed(error, recorder, frames)
    return None


def _donated(error: BaseException, recorder: Recorder, frames: Frames) -> str | None:
    """Return where the array was donated that an error is about."""
    found = _only_site(error, frames, recorder.donor)
    if found is None:
        return None
    used, donated = found
    return (
        f"placement-lint trace: {used} uses an array that is deleted: it was donated at {donated}"
    )


def _mixed(error: BaseException, recorder: Recorder, frames: Frames) -> str | None:
    """Return where the array was put on one device that a computation has beside one on a mesh."""
    found = _only_site(error, frames, recorder.committer)
    if found is None or not _OF_A_MESH.search(str(error)):
        return None
    used, committed = found
    return (
        f"placement-lint trace: {used} computes with an array of one device and one of a mesh: "
        f"the one was committed to its device at {committed}"
    )


def _only_site(
    error: BaseException, frames: Frames, site_of: Callable[[Any], Site | None]
) -> tuple[str, str] | None:
    """Return the line of the program that an error comes from, and the one line that is known of
    the arrays there; None where there is no such line, or more than one.
    """
    every = list(_tracebacks(error.__traceback__))
    own = [each for each in every if frames.user_file(each.tb_frame.f_code.co_filename)]
    if not own:
        return None
    used = own[-1]
    sites: set[Site] = set()
    # JAX's own frames hold those very arrays; where it is called from Python no more, or leaves
    # its frames out, those of the program do.
    for each in (*reversed(every[every.index(used) + 1 :]), used):
        sites = {site for array in _arrays(each.tb_frame) if (site := site_of(array))}
        if sites:
            break
    if len(sites) != 1:
        return None
    (site,) = sites
    place = frames.user_file(used.tb_frame.f_code.co_filename) or ""
    return f"{_short(place)}:{used.tb_lineno}", f"{_short(site.path)}:{site.line}"


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
