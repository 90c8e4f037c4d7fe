"""Files in which nothing can be found, excluded before any rule is imported.

To import the rules takes longer than all else that a commit hook does with a file that has nothing
to do with JAX. What each rule needs is said by the rule; the words here are parts of all that any
of them needs, and a test takes them out of the fixtures and finds that no rule is left with enough.
"""

from __future__ import annotations

from placement_lint.files.source import UnreadableError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.files.store import FileStore

WORDS = (
    *(b"jax", b"flax", b"optax", b"xla", b"jdp", b"placement-lint", b"mem_fraction"),
    *(b"device", b"dlpack", b"safetensors", b"safe_open"),
    # What forks in one file hangs because of what another one has started.
    *(b"multiprocess", b"processpool", b"fork", b"dataloader", b"mp_prefetch", b"num_proc"),
)
"""In small letters. Without one of these in any file of a run, no rule finds anything."""

MOST_FILES = 100
"""More are no hook's. They would be searched in vain, if the last one is the first with a word."""

LONG_LINE = 500
"""Mean length of the lines of a file that looks like an attack on the parser."""


def is_plain(path: str, data: bytes) -> bool:
    """Return whether nothing can be found in a file; False also where that takes more to tell."""
    return is_simple(path, data) and not may_say_something(data)


def is_simple(path: str, data: bytes) -> bool:
    """Return whether the bytes of a file are code in UTF-8, and no attack on the parser."""
    if not path.endswith((".py", ".pyi")) or has_long_lines(data):
        return False
    # Another encoding could spell a word in other bytes.
    if b"coding" in b"\n".join(data.split(b"\n", 2)[:2]):
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def may_say_something(code: bytes) -> bool:
    """Return whether code as UTF-8 has one of the words, so that a rule may find something in it.

    Without them, something may be found only by what the file imports from another one.
    """
    return any(map(code.lower().__contains__, WORDS))


def has_long_lines(data: bytes) -> bool:
    """Return whether the bytes of a file look like an attack on the parser."""
    return len(data) > LONG_LINE * (data.count(b"\n") + data.count(b"\r") + 1)


def nothing_can_be_found(files: Sequence[str], store: FileStore) -> bool:
    """Return whether no rule finds anything in any of the files; False where one cannot be read."""
    for path in files:
        try:
            data = store.read(path)
        except UnreadableError:
            # That is a finding.
            return False
        if not is_plain(path, data):
            return False
    return True
