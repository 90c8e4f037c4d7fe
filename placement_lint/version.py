"""The version of this package, and how more of it is installed."""

__version__ = "0.1.0"


def installing(extra: str) -> str:
    """Return the command that installs an extra, also before the package is published."""
    return f"pip install 'placement-lint[{extra}]', or in a clone pip install '.[{extra}]'"
