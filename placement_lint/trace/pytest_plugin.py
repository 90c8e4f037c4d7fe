"""`pytest --placement-trace`: a test in which JAX makes an implicit copy fails.

pytest loads this module in each of its runs: what it needs is imported only with the option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

_OPTION = "--placement-trace"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("placement-lint")
    group.addoption(
        _OPTION,
        action="store_true",
        help="fail tests in which JAX copies an uncommitted array from one device to another; "
        "without an accelerator, virtual devices stand in",
    )


def pytest_load_initial_conftests(early_config: pytest.Config, **_: Any) -> None:
    """Watch JAX before any test module or conftest imports it."""
    if getattr(early_config.known_args_namespace, "placement_trace", False):
        import pytest

        from placement_lint.trace.launch import CannotTraceError
        from placement_lint.trace.pytest_session import WatchedTests

        try:
            watched = WatchedTests.begin()
        except CannotTraceError as error:
            message = f"{_OPTION}: {error}"
            raise pytest.UsageError(message) from None
        early_config.pluginmanager.register(watched, "placement-trace")
