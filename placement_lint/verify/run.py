"""What `observe` is given: the code of one side, to be run under instruments."""

from collections.abc import Callable
from typing import Any


class Run:
    """Call it to run the side under observation; it counts the calls.

    It does not tell which side it runs: an observation that knew could not be trusted.
    """

    def __init__(
        self, function: Callable[[Any, Any], Any], accelerator: Any, host: Any, note: str
    ) -> None:
        self._function = function
        self.accelerator = accelerator
        self.host = host
        self.note = note
        self.calls = 0

    def __call__(self) -> Any:
        """Run the code; returns what it returns and raises what it raises."""
        self.calls += 1
        return self._function(self.accelerator, self.host)
