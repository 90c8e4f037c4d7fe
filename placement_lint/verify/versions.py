"""Ranges of versions, as a proof declares them: `">=0.4.31"`, `">=0.4.36,<0.10"`."""

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from placement_lint.jaxmodel.versions import Version, release_of


def parse_range(text: str) -> SpecifierSet:
    """Return the range that a text of PEP 440 is; raises ValueError, with a message, for others."""
    try:
        found = SpecifierSet(text)
    except InvalidSpecifier:
        found = SpecifierSet()
    if not found:
        msg = f"{text!r} is not a range of versions; write it like '>=0.4.31,<0.10'"
        raise ValueError(msg)
    return found


def release(version: str) -> Version:
    """Return the release numbers of a version; what follows them (`.dev1`, `rc0`) does not count.

    Raises ValueError when it does not begin with a number.
    """
    numbers = release_of(version)
    if numbers is None:
        msg = f"{version!r} is not a version"
        raise ValueError(msg)
    return numbers


def is_within(version: str, text: str) -> bool:
    """Whether the release of a version is in a range; raises ValueError for what is neither."""
    return ".".join(map(str, release(version))) in parse_range(text)
