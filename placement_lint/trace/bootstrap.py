"""The traced process: `python bootstrap.py FOLDER JSON`, run by path.

Everything that is set up here is in place before the program's first line, and takes nothing from
it: its arguments, its `sys.path`, its `__main__`, its standard streams are what Python gives it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from placement_lint.trace.frames import Frames
    from placement_lint.trace.ledger import TraceLedger

REFUSED = 2


def main(folder: str, request: dict[str, Any]) -> None:
    from pathlib import Path

    from placement_lint.trace.elsewhere import Elsewhere
    from placement_lint.trace.errors import explainer
    from placement_lint.trace.frames import Frames
    from placement_lint.trace.imported import when_imported
    from placement_lint.trace.ledger import TraceLedger
    from placement_lint.trace.program import (
        NoProgramError,
        leave_out_our_frames,
        module,
        run,
        script,
    )
    from placement_lint.trace.reached import Reached
    from placement_lint.trace.recorder import Recorder

    ledger = TraceLedger(Path(folder))
    ledger.write("start", python=sys.version.split()[0])
    frames = Frames()
    reached = Reached(frames, ledger)
    recorders: list[Recorder] = []

    def refuse(reason: str) -> None:
        ledger.write("refused", reason=reason)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(REFUSED)

    def jax_is_here() -> None:
        import jax

        from placement_lint.trace.hooks import HookError, install

        frames.leave_out(str(Path(jax.__file__).parent))
        ledger.write("jax", version=jax.__version__)
        try:
            recorder = Recorder(ledger, frames, reached.note_use)
            install(recorder)
            recorders.append(recorder)
            if request["devices"] == "virtual":
                _emulate_devices(frames, ledger)
        except (HookError, AttributeError) as error:
            refuse(f"JAX {jax.__version__} is not supported by trace: {error}")

    when_imported("jax", jax_is_here)
    target, arguments = request["target"], request["arguments"]
    try:
        program = module(target) if request["module"] else script(target)
        frames.take_in(str(Path(program.path).parent) if request["module"] else program.path)
        Elsewhere(frames, ledger).start()
        reached.start()
        run(program, arguments, program.path if request["module"] else target)
    except NoProgramError as error:
        refuse(str(error))
    except SystemExit:
        raise
    except BaseException:
        leave_out_our_frames(explainer(recorders, frames))
        raise


def _emulate_devices(frames: Frames, ledger: TraceLedger) -> None:
    from placement_lint.trace.emulation import Emulation, expected_devices

    def note(text: str) -> None:
        ledger.write("stage", text=text)

    Emulation(frames, note, expected_devices(dict(os.environ))).enter()


if __name__ == "__main__":
    # Python put the folder of this file first: the program would find our modules there.
    _here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    if sys.path and sys.path[0] == _here:
        del sys.path[0]
    _package = os.path.dirname(os.path.dirname(_here))  # noqa: PTH120
    sys.path.insert(0, _package)
    importlib.import_module("placement_lint.trace")
    sys.path.remove(_package)
    main(sys.argv[1], json.loads(sys.argv[2]))
