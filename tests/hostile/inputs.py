"""What breaks linters: by name, how to make it in a folder.

`CODE` are texts of files that mention JAX in a way that passes the filter; `BYTES` are files as
bytes; `PLACES` are what else a folder can hold.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from tests.special_files import fifo, link_to_itself, unix_socket

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Text: TypeAlias = "str | Callable[[], str]"
Data: TypeAlias = "bytes | Callable[[], bytes]"
"""Or what makes it: nobody holds a hundred megabytes of it for other tests."""

HEAD = "import jax\nx = jax.device_put(1)\n"
"""Passes the filter, so that what follows is parsed."""


def _blocks(header: str, depth: int) -> str:
    return "".join(f"{' ' * level}{header}\n" for level in range(depth)) + " " * depth + "pass\n"


def _terms(operator: str, count: int) -> str:
    return f"y = {operator.join(['a'] * count)}\n"


def _nested(opening: str, closing: str, depth: int) -> str:
    return f"y = {opening * depth}a{closing * depth}\n"


_REPEATED: dict[str, Callable[[int], str]] = {
    "chained calls": lambda count: "y = a" + ".b()" * count + "\n",
    "chained subscripts": lambda count: "y = a" + "[0]" * count + "\n",
    "strings in a row": lambda count: "y = (" + "'a' " * count + ")\n",
    "nots": lambda count: "y = " + "not " * count + "a\n",
    "signs": lambda count: "y = " + "- " * count + "a\n",
    "lambdas in a row": lambda count: "y = " + "lambda: " * count + "a\n",
    "elifs": lambda count: "if a:\n  b\n" + "elif a:\n  b\n" * count,
    "decorators": lambda count: "@a\n" * count + "def g(): pass\n",
    "targets": lambda count: "a = " * count + "b\n",
    "fields": lambda count: "y = f'" + "{a}" * count + "'\n",
    "parameters": lambda count: (
        "def g(" + ", ".join(f"a{number}" for number in range(count)) + "): pass\n"
    ),
    "statements on a line": lambda count: "a; " * count + "b\n",
    "continued lines": lambda count: "y = a" + " + \\\n a" * min(count, 5_000) + "\n",
    "handlers": lambda count: "try:\n  a\n" + "except b:\n  c\n" * count,
    "cases": lambda count: "match a:\n" + "  case b.c:\n    d\n" * count,
    "imports": lambda count: "".join(f"import a{number}\n" for number in range(count)),
    "with items": lambda count: "with " + ", ".join(["a"] * count) + ": pass\n",
    "globals": lambda count: "def g():\n  global " + ", ".join(["a"] * count) + "\n",
}

CODE: dict[str, Text] = {
    **{
        f"{depth} nested {name}": partial(_nested, opening, closing, depth)
        for depth in (199, 3_000, 20_000)
        for name, opening, closing in (
            ("parentheses", "(", ")"),
            ("lists", "[", "]"),
            ("sets", "{", "}"),
            ("mappings", "{1: ", "}"),
            ("calls", "f(", ")"),
            ("subscripts", "a[", "]"),
            ("lambdas", "(lambda: ", ")"),
            ("conditions", "(1 if 2 else ", ")"),
            ("comprehensions", "[a for a in ", "]"),
        )
    },
    **{
        f"{count:,} terms with {operator.strip()}": partial(_terms, operator, count)
        for count in (500, 5_000, 50_000)
        for operator in (" + ", " ** ", " and ", " < ", ".", " if b else ", " @ ")
    },
    **{
        f"{count:,} {name}": partial(repeated, count)
        for count in (200, 5_000, 50_000)
        for name, repeated in _REPEATED.items()
    },
    **{
        f"{depth} nested {header.split()[0]} blocks": _blocks(header, depth)
        for depth in (99, 101, 2_000)
        for header in (
            "if a:",
            "for a in b:",
            "while a:",
            "with a:",
            "def g():",
            "class A:",
            "try:",
        )
    },
    **{
        f"f-string in f-string {depth} deep": "y = " + "f'{" * depth + "a" + "}'" * depth + "\n"
        for depth in (10, 199, 3_000)
    },
    "list of 100,000": lambda: f"y = [{'1, ' * 100_000}]\n",
    "mapping of 100,000": lambda: f"y = {{{'1: 2, ' * 100_000}}}\n",
    "line of 10 MB": lambda: "y = [" + "1," * 5_000_000 + "]\n",
    "string of 10 MB": lambda: "y = '" + "a " * 5_000_000 + "'\n",
    "comment of 10 MB": lambda: "# " + "a(" * 5_000_000 + "\n",
    "name of 1 MB": lambda: "a" * 1_000_000 + " = 1\n",
    "number of 1 MB": lambda: "y = " + "9" * 1_000_000 + "\n",
    "1,000,000 empty lines": lambda: "\n" * 1_000_000,
    "100,000 comments": lambda: "# noqa: E501\n" * 100_000,
    "deep case pattern": "match a:\n  case " + "[" * 60 + "b" + "]" * 60 + ": pass\n",
    "open bracket": "y = (" * 150 + "\n",
    "open string": "y = '''" + "a\n" * 100_000,
    "open f-string field": "y = f'''{" + "a\n" * 10_000,
    "closing brackets": ")" * 50_000 + "\n",
    "quotes": "'" * 100_001 + "\n",
    "quotes that begin no string": "\"'\\" * 100_000 + "\n",
    "triple quotes that begin no string": "'\n\\''" * 100_000 + "\n",
    "backslashes": "\\\n" * 20_000,
    "lone surrogate in an escape": "y = '\\ud800'\n",
    "name that NFKC changes": "ﬁ = 1\nfi = ﬁ\n",
    "right to left": "y = 'a\u202eb\u2066'\n",
    "python 2": "print 'a'\nexec 'b' in c\n`d`\n",
    "tabs and spaces": "if a:\n        b\n\tc\n",
    "return at the top": "return 1\n",
    "same parameter twice": "def g(a, a): pass\n",
    "same keyword twice": "f(a=1, a=2)\n",
    "magic": "%matplotlib inline\n!ls\n",
    "conflict": "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n",
    "type parameters": "class A[T: (int, str) = int, *Ts, **P]: pass\ntype B[T] = list[T]\n",
    "except star": "try:\n  a\nexcept* (b, c) as d:\n  pass\n",
    "nothing but a prompt": ">>> a\n... b\n",
}

BYTES: dict[str, bytes] = {
    "empty": b"",
    "NUL": HEAD.encode() + b"y = '\x00'\n",
    "only NUL": b"\x00" * 1_000_000,
    "byte order mark": b"\xef\xbb\xbf" + HEAD.encode(),
    "two byte order marks": b"\xef\xbb\xbf\xef\xbb\xbf" + HEAD.encode(),
    "UTF-16": HEAD.encode("utf-16"),
    "UTF-16 without a mark": HEAD.encode("utf-16-le"),
    "UTF-32": HEAD.encode("utf-32"),
    "bad UTF-8": HEAD.encode() + b"y = '\xff\xfe'\n",
    "surrogate in UTF-8": HEAD.encode() + b"y = '\xed\xa0\x80'\n",
    "unknown cookie": b"# coding: klingon\n" + HEAD.encode(),
    "cookie of bytes to bytes": b"# coding: base64\n" + HEAD.encode(),
    "cookie of text to text": b"# coding: rot13\n" + HEAD.encode(),
    "cookie that escapes": b"# coding: unicode_escape\n" + HEAD.encode(),
    "cookie of idna": b"# coding: idna\n" + HEAD.encode(),
    "cookie and another mark": b"\xef\xbb\xbf# coding: latin-1\n" + HEAD.encode(),
    "UTF-7": b"# coding: utf-7\n+AAo-import jax\n" + HEAD.encode(),
    "latin-1": b"# coding: latin-1\n" + HEAD.encode() + b"y = '\xe9'\n",
    "shift_jis": "# coding: shift_jis\nimport jax\ny = '表'\n".encode("shift_jis"),
    "hz": b"# coding: hz\nimport jax\ny = '~{<:Ky2;S{#~}'\n",
    "carriage returns": HEAD.replace("\n", "\r").encode(),
    "mixed line ends": b"import jax\r\nx = 1\ny = 2\rz = 3\r\n\n\r",
    "form feeds": b"import jax\n\x0c\nx = 1\n\x0cif x:\n\x0c    y = 2\n",
    "other line ends": "import jax\ny = 'a\u2028b\x85c\x0bd'\n".encode(),
    "no line end": HEAD.encode().rstrip(),
    "comment without a line end": HEAD.encode() + b"# end",
    "backslash at the end": HEAD.encode() + b"y = 1 + \\",
    "control Z": HEAD.encode() + b"\x1a",
    "random": bytes(range(256)) * 4_000 + b"jax",
    "gzip": b"\x1f\x8b\x08\x00jax" + bytes(range(256)) * 100,
}

_CELL: dict[str, object] = {
    "cell_type": "code",
    "metadata": {},
    "outputs": [],
    "execution_count": None,
}


def _notebook(*sources: object, **more: object) -> bytes:
    cells = [{**_CELL, "source": source} for source in sources]
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}
    return json.dumps(whole).encode()


NOTEBOOKS: dict[str, Data] = {
    "empty": b"",
    "truncated": _notebook(HEAD)[:-30],
    "not JSON": b"import jax\n",
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "no cells": b'{"nbformat": 4}',
    "cells of the wrong kind": b'{"cells": [1, null, "a", {}], "nbformat": 4}',
    "cells that are an object": b'{"cells": {"a": 1}, "nbformat": 4}',
    "source of the wrong kind": _notebook(1, None, {}, [1, 2]),
    "format 3": b'{"worksheets": [{"cells": []}], "nbformat": 3}',
    "format 99": _notebook(HEAD, nbformat=99),
    "another language": _notebook(HEAD, metadata={"kernelspec": {"language": "R", "name": "ir"}}),
    "same key twice": b'{"cells": [], "cells": [], "nbformat": 4, "metadata": {}}',
    "nested 100,000 deep": b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "number of 100,000 digits": b'{"cells": [], "nbformat": ' + b"4" * 100_000 + b"}",
    "NaN": b'{"cells": [], "metadata": {"a": NaN, "b": Infinity}, "nbformat": 4}',
    "lone surrogate": _notebook("import jax\ny = '\ud800'\n"),
    "magic everywhere": _notebook("%%bash\nimport jax\n", "!ls\n", "%time jax.device_put(1)\n"),
    "syntax error": _notebook("import jax\n", "y = (\n", HEAD),
    "byte order mark": b"\xef\xbb\xbf" + _notebook(HEAD),
    "100,000 cells": lambda: _notebook(*["x = 1\n"] * 100_000),
    "100 MB of output": lambda: _notebook(HEAD).replace(
        b'"outputs": []',
        b'"outputs": [{"output_type": "display_data", "metadata": {}, "data": {"image/png": "'
        + b"A" * 100_000_000
        + b'"}}]',
    ),
}


def _fifo(folder: Path) -> None:
    fifo(folder / "pipe.py")


def _socket(folder: Path) -> None:
    unix_socket(folder / "socket.py")


def _device(folder: Path) -> None:
    (folder / "zero.py").symlink_to("/dev/zero")
    (folder / "null.py").symlink_to("/dev/null")


def _loops(folder: Path) -> None:
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    link_to_itself(folder / "self.py")
    (folder / "one.py").symlink_to("two.py")
    (folder / "two.py").symlink_to("one.py")
    (folder / "gone.py").symlink_to("nowhere.py")


def _folder_named_like_a_file(folder: Path) -> None:
    (folder / "folder.py").mkdir()
    (folder / "folder.py" / "inner.py").write_text(HEAD, encoding="utf-8")


def _unreadable(folder: Path) -> None:
    (folder / "secret.py").write_text(HEAD, encoding="utf-8")
    (folder / "secret.py").chmod(0)
    (folder / "secret").mkdir()
    (folder / "secret" / "a.py").write_text(HEAD, encoding="utf-8")
    (folder / "secret").chmod(0)


def _deep(folder: Path) -> None:
    below = folder
    for _ in range(60):
        below = below / ("d" * 40)
        below.mkdir()
    (below / "deep.py").write_text(HEAD, encoding="utf-8")


def _many(folder: Path) -> None:
    for number in range(2_000):
        (folder / f"empty{number}.py").touch()


def _names(folder: Path) -> None:
    for name in (
        *("with space.py", "new\nline.py", "tab\t.py", "'quote'.py", '"double".py', "100%.py"),
        *("::error::.py", "-rf.py", "--fix.py", "[brackets].py", "*.py", "é.py", "\x1b[31m.py"),
        *("\u202eyp.py", "a" * 252 + ".py", "#hash.py", "~.py", "$HOME.py", ".hidden.py", "é.py"),
    ):
        (folder / name).write_text(HEAD, encoding="utf-8")
    if sys.platform == "linux":
        (folder / os.fsdecode(b"\xff\xfe.py")).write_text(HEAD, encoding="utf-8")


def _settings_as_folder(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "a.py").write_text(HEAD, encoding="utf-8")
    (folder / "sub" / "pyproject.toml").mkdir()


def _odd_ignores(folder: Path) -> None:
    (folder / ".gitignore").write_bytes(b"\xff\xfe\x00[\n[z-a]\n**/**/**\\\n!\n" + b"?" * 200)


PLACES: dict[str, Callable[[Path], None]] = {
    "pipe": _fifo,
    "socket": _socket,
    "devices": _device,
    "links in circles": _loops,
    "folder named like a file": _folder_named_like_a_file,
    "unreadable": _unreadable,
    "60 folders deep": _deep,
    "2,000 files": _many,
    "names": _names,
    "settings that are a folder": _settings_as_folder,
    "ignores that are no patterns": _odd_ignores,
}


def make(name: str, folder: Path) -> None:
    """Make one of them in a folder that is empty."""
    kind, _, what = name.partition(": ")
    if kind == "code":
        code = CODE[what]
        text = code if isinstance(code, str) else code()
        (folder / "hostile.py").write_bytes((HEAD + text).encode())
    elif kind == "bytes":
        (folder / "hostile.py").write_bytes(BYTES[what])
    elif kind == "notebook":
        notebook = NOTEBOOKS[what]
        data = notebook if isinstance(notebook, bytes) else notebook()
        (folder / "hostile.ipynb").write_bytes(data)
    else:
        PLACES[what](folder)


NAMES = [
    *(f"code: {name}" for name in CODE),
    *(f"bytes: {name}" for name in BYTES),
    *(f"notebook: {name}" for name in NOTEBOOKS),
    *(f"place: {name}" for name in PLACES),
]
