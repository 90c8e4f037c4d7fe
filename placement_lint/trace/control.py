"""Shows that the hooks see: `python control.py`, on two virtual devices. Status 0 if they do.

Run for a JAX that is newer than those that the hooks were tried on.
"""

from __future__ import annotations

import os
import sys
import tempfile

_TIMES, _ROWS, _BYTES = 3, 5, 7 * 5


def main() -> str | None:
    """Move an array three times, and another none; say what is wrong with what was seen."""
    from pathlib import Path

    from placement_lint.trace.frames import Frames
    from placement_lint.trace.hooks import HookError, install
    from placement_lint.trace.ledger import TraceLedger
    from placement_lint.trace.record import read
    from placement_lint.trace.recorder import DRAGGED, Recorder

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        frames = Frames()
        frames.take_in(__file__)
        import jax
        import jax.numpy as jnp

        frames.leave_out(str(Path(jax.__file__).parent))
        try:
            install(Recorder(TraceLedger(folder), frames, lambda _: None))
        except HookError as error:
            return str(error)
        host = jax.devices()[-1]
        with jax.default_device(host):
            array = jnp.zeros((_ROWS, _BYTES // _ROWS), dtype=jnp.int8)
        stays = jax.device_put(array, host)
        for _ in range(_TIMES):
            array[0].block_until_ready()
            stays[0].block_until_ready()
        moves = [move for move in read(folder).moves if move.kind == DRAGGED]
    seen = [(move.count, move.bytes) for move in moves]
    if seen != [(_TIMES, _TIMES * _BYTES)]:
        return f"of {_TIMES} copies of {_BYTES} bytes it shows {seen}"
    return None


if __name__ == "__main__":
    _here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    sys.path[0] = os.path.dirname(os.path.dirname(_here))  # noqa: PTH120
    sys.exit(main())
