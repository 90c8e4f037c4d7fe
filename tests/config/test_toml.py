"""TOML takes no time that grows with the square of anything in it."""

from __future__ import annotations

import sys
import time

import pytest

from placement_lint.config import toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MANY = 200_000


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * MANY) + " = 1",
        "[" + ".".join(["a"] * MANY) + "]",
        "[[" + " . ".join(["a"] * MANY) + "]]",
        "x = {" + ".".join(['"a b"'] * MANY) + " = 1}",
        ".".join(["'a'"] * MANY) + " = 1",
        "# '\n" + ".".join(["a"] * MANY) + " = 1",
        "x = '\"'\n" + ".".join(["a"] * MANY) + " = 1",
    ],
    ids=lambda text: text[:12],
)
def test_long_keys_are_refused(text: str) -> None:
    started = time.process_time()
    with pytest.raises(ValueError, match="a key of more than 100 parts"):
        toml.loads(text)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "text",
    [
        f"x = '{'a.' * MANY}'",
        f'x = "{"a." * MANY}"',
        f'x = "\\"{"a." * MANY}"',
        "x = '''" + "a.\n" * MANY + "'''",
        f'x = """"{"a." * MANY}"""',
        f"# {'a.' * MANY}\nx = 1",
        "x = [" + "1.5, " * MANY + "]",
        ".".join(["a"] * 100) + " = 1",
    ],
    ids=lambda text: text[:12],
)
def test_dots_elsewhere_are_not(text: str) -> None:
    assert toml.loads(text) == tomllib.loads(text)
