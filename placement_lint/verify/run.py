"""What `observe` is given: the code of one side, to be run under instruments."""

from collections.abc import Callable
from typing import Any

from placement_lint.verify.observation import BlindInstrumentError

Look = Callable[[Callable[..., Any]], tuple[list[Any], int]]


class Run:
    """Call it to run the side under observation; it counts the calls.

    It does not tell which side it runs: an observation that knew could not be trusted.
    """

    def __init__(
        self,
        function: Callable[[Any, Any], Any],
        accelerator: Any,
        host: Any,
        note: str,
        *,
        look: Look | None = None,
    ) -> None:
        self._function = function
        self._look = look
        self.accelerator = accelerator
        self.host = host
        self.note = note
        self.calls = 0

    def __call__(self) -> Any:
        """Run the code; returns what it returns and raises what it raises."""
        self.calls += 1
        return self._function(self.accelerator, self.host)

    def in_two_processes(self, see: "Callable[[Run], Any]") -> tuple[Any, Any]:
        """Call see(run) in each of two `jax.distributed` processes; returns what the two gave.

        Only for proofs with `STAGE = "processes"`; `verify/processes.py` says how to write one.
        Raises ProcessError when a process did not say what it saw.
        """
        if self._look is None:
            raise RuntimeError('in_two_processes needs STAGE = "processes" in the proof')
        (first, second), calls = self._look(see)
        self.calls += calls
        return first, second

    def same_in_two_processes(self, see: "Callable[[Run], Any]") -> Any:
        """Return what both of two processes see: see `in_two_processes`.

        Raises BlindInstrumentError when they do not see the same.
        """
        first, second = self.in_two_processes(see)
        if first != second:
            message = f"the processes differ: {first}, {second}"
            raise BlindInstrumentError(message)
        return first
