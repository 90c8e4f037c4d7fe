"""Functions of Python and other packages that only read what they are given, to show or write it.

A list, a dict or an object that such a call is given holds afterwards what it held before.
"""

from __future__ import annotations

PRINTING = frozenset({"builtins.print", "builtins.repr", "builtins.str", "pprint.pprint"})
"""Functions of Python that print what they are given, or make a text of it: with all that is in it,
where it is a list, a tuple or a dict."""

SHOWING = frozenset({
    "builtins.print", "click.echo", "mlflow.log_metric", "mlflow.log_metrics", "pprint.pprint",
    "rich.print", "swanlab.log", "sys.stderr.write", "sys.stdout.write", "tqdm.auto.tqdm.write",
    "tqdm.tqdm.write", "wandb.log",
})  # fmt: skip
"""Functions that show what they are given, to a person or on a page."""

_WRITING = frozenset({
    "cloudpickle.dump", "cloudpickle.dumps", "dill.dump", "dill.dumps", "joblib.dump", "json.dump",
    "json.dumps", "mlflow.log_dict", "mlflow.log_params", "msgpack.packb", "orjson.dumps",
    "pickle.dump", "pickle.dumps", "pprint.pformat", "rich.pretty.pprint", "yaml.dump",
    "yaml.safe_dump",
})  # fmt: skip
"""Functions that write what they are given to a file or into a text."""

LOGGING = ("absl.logging.", "logging.", "loguru.logger.")
"""Modules and objects whose functions put what they are given into a log."""

LOGGING_METHODS = frozenset(
    {"critical", "debug", "error", "exception", "info", "log_metrics", "warning"}
)
"""Methods by which loggers do so, whatever object a program has of one."""


def only_reads(name: str) -> bool:
    """Return whether a function, by its qualified name, only reads what it is given."""
    return name in SHOWING or name in _WRITING or name.startswith(LOGGING)
