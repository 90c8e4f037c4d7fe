"""What a file must contain for a rule to be able to fire: the file filter.

A rule says once what it needs. Words are searched in the bytes, which costs next to nothing (one
in a string is taken to be written in one piece); what names the text may hold is worked out by
regular expressions, once a file, where words are not enough to pass it over.
"""

from __future__ import annotations

import abc
import functools
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, AnyStr, Generic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from placement_lint.files.source import Source
    from placement_lint.prefilter.name_scan import Exports, Mentions


JAX = b"jax"
GIVEN = "given_to_a_callback_or_worker"
"""Added to the text of a file of which others may give functions to callbacks and data loaders."""
GAP = rb"[\s\\]*"
"""What may stand between two tokens, where comments are taken out."""

_BLANKS = bytes(
    code if chr(code).isalnum() or chr(code) == "_" else ord(" ") for code in range(128)
).ljust(256)


class FileText:
    """What a file says, as far as the filter looks into it."""

    def __init__(
        self,
        data: bytes,
        *,
        jax: bool,
        imported: str = "",
        exports: Exports | None = None,
        path: str | None = None,
    ) -> None:
        """Take the names of JAX that files of the run re-export to this one as `imported`.

        A name of JAX can be known where the file mentions jax, or there are such names. Words are
        searched in them as in the bytes, and `exports` returns which qualified name may stand for
        which of them.
        """
        # Expressions take a line feed for the end of a line.
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self.data = data
        self.path = path
        self.jax = jax
        self._known: dict[Needs, bool] = {}
        if imported:
            self.data += b"\n" + imported.encode("utf-8", "surrogatepass")
        self._size = len(data)
        self._exports = exports
        self.names_of_others = exports is not None and not imported
        """Whether a name may come by imports of which no part need be written in the file."""

    def knowing(self, imported: str, exports: Exports | None) -> FileText:
        """Return the same text with what comes by imports; what was worked out already is kept."""
        is_jax = self.jax or "jax" in imported
        own = self.data[: self._size]
        text = FileText(own, jax=is_jax, imported=imported, exports=exports, path=self.path)
        if self.knows_names and exports is not None:
            text.mentions = self.mentions.knowing(exports)
        return text

    @property
    def knows_names(self) -> bool:
        return "mentions" in self.__dict__

    def meets(self, need: Needs) -> bool:
        """Return whether a condition is met, evaluated once for all rules that share it."""
        known = self._known.get(need)
        if known is None:
            known = self._known[need] = need.met_by(self)
        return known

    @functools.cached_property
    def words(self) -> frozenset[bytes]:
        """Everything in the bytes that could be an identifier, keyword or number, in ASCII."""
        return frozenset(self.data.translate(_BLANKS).split())

    @functools.cached_property
    def mentions(self) -> Mentions:
        from placement_lint.prefilter.name_scan import Mentions

        return Mentions.in_code(self._code, self._exports)

    @property
    def text(self) -> str:
        return self.data[: self._size].decode("utf-8", "surrogatepass")

    @functools.cached_property
    def code(self) -> bytes:
        """The bytes without comments, and without what long strings say."""
        return self._code.encode("utf-8", "surrogatepass") + self.data[self._size :]

    @functools.cached_property
    def _code(self) -> str:
        from placement_lint.syntax.code_text import code_of

        return code_of(self.text)


def text_of_source(source: Source) -> FileText:
    """Return the text that conditions are evaluated on, without what comes by imports."""
    data = source.text.encode("utf-8", "surrogatepass")
    return FileText(data, jax=JAX in data, path=source.path)


class Needs(abc.ABC):
    """A condition on what a file says."""

    @abc.abstractmethod
    def met_by(self, text: FileText) -> bool:
        """Return whether the file may hold a finding."""


_WORD_FIRST = r"\\b([A-Za-z_]\w*)(?![\w*+?{])"


def _beginning_with_a_word(pattern: AnyStr) -> AnyStr:
    """Return the same expression, so written that it begins with letters where it can.

    `re` searches for these at once, thirty times as fast, but not behind a boundary of words.
    """
    if isinstance(pattern, bytes):
        return re.sub(b"^" + _WORD_FIRST.encode(), rb"\1(?<=\\b\1)", pattern)
    return re.sub(f"^{_WORD_FIRST}", r"\1(?<=\\b\1)", pattern)


class _Expression(Generic[AnyStr]):
    """A regular expression that is compiled when it is first used: few files get that far."""

    def __init__(self, pattern: AnyStr, flags: int = 0) -> None:
        self._pattern: AnyStr = pattern
        self._flags = flags

    @functools.cached_property
    def _compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(_beginning_with_a_word(self._pattern), self._flags)

    def found_in(self, text: AnyStr) -> bool:
        return any(match.lastgroup != "otherwise" for match in self._compiled.finditer(text))

    def all_in(self, text: AnyStr) -> Iterator[AnyStr]:
        return (match.group() for match in self._compiled.finditer(text))


@dataclass(frozen=True)
class Word(Needs):
    """The file contains these bytes."""

    word: bytes

    def met_by(self, text: FileText) -> bool:
        return self.word in text.data


class Identifier(Needs):
    """The file contains this identifier, not only as a part of a longer one."""

    def __init__(self, identifier: bytes) -> None:
        self._identifier = identifier
        self._pattern: _Expression[bytes] = _Expression(
            rb"(?<![A-Za-z0-9_])" + identifier + rb"(?![A-Za-z0-9_])"
        )

    def met_by(self, text: FileText) -> bool:
        """Search for the plain word first: that is far faster."""
        return self._identifier in text.data and self._pattern.found_in(text.data)


class AnyWord(Needs):
    """The file has one of these identifiers anywhere, or by what it imports from other files."""

    def __init__(self, *words: str) -> None:
        self._bytes = frozenset(word.encode() for word in words)

    def met_by(self, text: FileText) -> bool:
        return not self._bytes.isdisjoint(text.words)


class Pattern(Needs):
    """The file contains something that a regular expression matches."""

    def __init__(
        self,
        pattern: bytes,
        *,
        word: bytes = b"",
        ignore_case: bool = False,
        in_comments: bool = False,
    ) -> None:
        """`word` is part of all that the expression matches: that is found faster.

        Without regard to case, the word must be a short one. In comments and long strings nothing
        is searched for, unless asked for. What a group `otherwise` matches is consumed, so that it
        is not searched again and again, and does not count.
        """
        self._words = _cases(word) if ignore_case else (word,)
        flags = re.IGNORECASE if ignore_case else 0
        self._pattern: _Expression[bytes] = _Expression(pattern, flags)
        self._in_comments = in_comments

    def met_by(self, text: FileText) -> bool:
        if not any(word in text.data for word in self._words):
            return False
        return self._pattern.found_in(text.data if self._in_comments else text.code)


class InImport(Needs):
    """An import statement, or what follows one on its line, has something like this."""

    _statements: _Expression[bytes] = _Expression(rb"\b(?:import|from)\b(?:[^\n;\\]|\\\n)*")

    def __init__(self, pattern: bytes, *, word: bytes) -> None:
        """`word` is part of all that the regular expression matches."""
        self._word = word
        self._pattern: _Expression[bytes] = _Expression(pattern)

    def met_by(self, text: FileText) -> bool:
        return self._word in text.data and any(
            self._pattern.found_in(statement) for statement in self._statements.all_in(text.code)
        )


def passed(keyword: bytes, value: bytes = b"") -> Pattern:
    """Return the condition that something is passed by this keyword, and begins like this."""
    return Pattern(rb"\b" + keyword + GAP + rb"=(?!=)" + GAP + value, word=keyword)


@dataclass(frozen=True)
class Jax(Needs):
    """A name of JAX can be known in the file."""

    def met_by(self, text: FileText) -> bool:
        return text.jax


class Uses(Needs):
    """The file may use one of these qualified names, by whatever name of its own."""

    def __init__(self, *names: str) -> None:
        """`jax.lib.*` stands for all names below it."""
        self._asked = tuple(sorted({*names}))

    @functools.cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(name for name in self._asked if not name.endswith(".*"))

    @functools.cached_property
    def _below(self) -> frozenset[str]:
        return frozenset(name[:-2] for name in self._asked if name.endswith(".*"))

    @functools.cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(name.removesuffix(".*").rpartition(".")[2] for name in self._asked)

    @functools.cached_property
    def _bytes(self) -> frozenset[bytes]:
        return frozenset(word.encode() for word in self._words)

    @functools.cached_property
    def _last_by_first(self) -> dict[bytes, set[bytes]]:
        found: dict[bytes, set[bytes]] = {}
        for name in self._asked:
            whole = name.removesuffix(".*").encode()
            first, last = whole.partition(b".")[0], whole.rpartition(b".")[2]
            # What Python has itself is written without a first part.
            found.setdefault(b"" if first == b"builtins" else first, set()).add(last)
        return found

    def _has_parts(self, text: FileText) -> bool:
        """Whether the first and the last part of a name are there: without them it is not."""
        if text.names_of_others:
            return not self._bytes.isdisjoint(text.words)
        return any(
            (not first or first in text.words) and not last.isdisjoint(text.words)
            for first, last in self._last_by_first.items()
        )

    def met_by(self, text: FileText) -> bool:
        if not self._has_parts(text):
            return False
        mentions = text.mentions
        if mentions.is_open:
            return not self._words.isdisjoint(mentions.words)
        return not (
            self._names.isdisjoint(mentions.names)
            and (not self._below or self._below.isdisjoint(mentions.above))
        )


class Enters(Needs):
    """The file may enter, in a `with`, what a call of one of these qualified names makes."""

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)
        self._used = Uses(*names)

    def met_by(self, text: FileText) -> bool:
        if b"with" not in text.data or not self._used.met_by(text):
            return False
        return text.mentions.is_open or text.mentions.enters(self._names)


class Says(Needs):
    """The file has one of these words as an identifier, outside of comments and docstrings."""

    def __init__(self, *words: str) -> None:
        self._words = frozenset(words)
        self._bytes = frozenset(word.encode() for word in words)

    def met_by(self, text: FileText) -> bool:
        if self._bytes.isdisjoint(text.words):
            return False
        return not self._words.isdisjoint(text.mentions.words)


class ArgumentMatches(Uses):
    """The file may call one of these qualified names with something like this between the brackets.

    Comments and strings there count, too. Where it is not known what a call is given, this is
    met.
    """

    def __init__(self, names: Iterable[str], pattern: str) -> None:
        super().__init__(*names)
        self._given = _Expression(pattern)

    def met_by(self, text: FileText) -> bool:
        if not super().met_by(text):
            return False
        return text.mentions.is_open or any(
            given is None or self._given.found_in(given)
            for given in text.mentions.arguments_of(self._names)
        )


class GivenFunction(Uses):
    """The file may call one of these with a function of its own, or of JAX, as first argument.

    Not with a parameter, say, or with what another file has.
    """

    def __init__(self, names: Iterable[str], keyword: str) -> None:
        """`keyword`: the function may be passed by it as well."""
        super().__init__(*names)
        self._keyword = _Expression(rf"\b{keyword}\b")

    def met_by(self, text: FileText) -> bool:
        if not super().met_by(text):
            return False
        mentions = text.mentions
        return (
            mentions.is_open
            or mentions.gives_function(self._names)
            or any(
                given is None or self._keyword.found_in(given)
                for given in mentions.arguments_of(self._names)
            )
        )


class ReadOfValue(Needs):
    """The file may read an attribute of something that is no module."""

    def __init__(self, attribute: str, *, called: bool = False) -> None:
        """With `called`, what the attribute gives has to be called at once."""
        self._attribute = attribute
        self._word = attribute.encode()
        self._called = called

    def met_by(self, text: FileText) -> bool:
        if self._word not in text.data:
            return False
        return text.mentions.reads_of_value(self._attribute, called=self._called)


class Placed(Needs):
    """The path of the file is one of those that the rule is about, or is not known."""

    def __init__(self, fits: Callable[[str], bool]) -> None:
        """`fits` returns whether the rule is about files with a path."""
        self._fits = fits

    def met_by(self, text: FileText) -> bool:
        return text.path is None or self._fits(text.path)


class Begins(Uses):
    """The file may have a statement that begins with one of these qualified names."""

    def met_by(self, text: FileText) -> bool:
        if not super().met_by(text):
            return False
        return text.mentions.is_open or text.mentions.begins_statement(self._names)


class AnyOf(Needs):
    """One of these is met."""

    def __init__(self, *needs: Needs | bytes) -> None:
        self.needs = tuple(map(_needs, needs))

    def met_by(self, text: FileText) -> bool:
        return any(text.meets(need) for need in self.needs)


class AllOf(Needs):
    """All of these are met."""

    def __init__(self, *needs: Needs | bytes) -> None:
        self.needs = tuple(map(_needs, needs))

    def met_by(self, text: FileText) -> bool:
        return all(text.meets(need) for need in self.needs)


class Without(Needs):
    """The file contains none of these bytes, anywhere: with one of them the rule is silent."""

    def __init__(self, *words: bytes) -> None:
        self._words = words

    def met_by(self, text: FileText) -> bool:
        return not any(word in text.data for word in self._words)


class AtImport(Needs):
    """The file calls one of these functions outside of function bodies, or in one that it calls
    there, which may be one of another file.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._words = frozenset(name.rpartition(".")[2] for name in self._names)

    def met_by(self, text: FileText) -> bool:
        """Evaluate what is called where the bodies of functions are removed."""
        if not text.jax:
            return False
        mentions = text.mentions
        if self._is_among(mentions.called_at_import, mentions) or mentions.calls_imported_at_import:
            return True
        return mentions.calls_own_function_at_import and self._is_among(mentions.called, mentions)

    def _is_among(self, called: Iterable[str], mentions: Mentions) -> bool:
        if mentions.is_open:
            return not self._words.isdisjoint(name.rpartition(".")[2] for name in called)
        return not self._names.isdisjoint(called)


class Never(Needs):
    """No file is read for this rule: it is about the run itself, not about code."""

    def met_by(self, text: FileText) -> bool:
        return False


def _cases(word: bytes) -> tuple[bytes, ...]:
    """Return a word in every mix of upper and lower case."""
    text = word.decode("ascii")
    mixtures = itertools.product(*zip(text.lower(), text.upper(), strict=True))
    return tuple(sorted({"".join(letters).encode() for letters in mixtures}))


def _needs(need: Needs | bytes) -> Needs:
    return Word(need) if isinstance(need, bytes) else need


NAMED_SUPPRESSION = AnyOf(
    Pattern(
        rb"#\s*(?:(?:(?:flake8|ruff)\s*[:=]\s*)?noqa\s*:|ruff:\s*(?:(?:file-)?ignore|disable)\[)"
        rb"(?:(?!jdp[0-9])[^\n])*"
        rb"(?:jdp[0-9]|(?P<otherwise>\n|\Z))",
        word=b"jdp",
        ignore_case=True,
        in_comments=True,
    ),
    AllOf(b"placement-lint:", AnyOf(b"ignore", b"off")),
)
"""A comment that silences rules of ours by name."""

LISTED_DEVICES = AnyOf(
    Uses("jax.devices", "jax.local_devices"),
    AllOf(b"getattr", Pattern(rb"[\"'](?:local_)?devices[\"']", word=b"devices")),
)
"""Code that gets a device by which something may be committed."""

DEVICE_ARGUMENT = Pattern(rb"\bdevice(?:[\s\\]*=(?!=)|[\"'][\s\\]*:)", word=b"device")
"""A `device=`, or an item `"device":` that may become one."""

SHARDS = AnyOf(Uses("jax.sharding.*", "jax.NamedSharding"), Pattern(rb"shard", word=b"shard"))
"""Code in which an array may have a sharding that is known: comments and docstrings have none."""

COMMITTED = AnyOf(
    b"device_put",
    b"to_device",
    b"from_dlpack",
    DEVICE_ARGUMENT,
    AllOf(AnyOf(b"ShapeDtypeStruct", b"RestoreArgs"), b"restore"),
)
"""Code by which an array may be committed to a device that is known."""

ELSEWHERE = AnyOf(
    Says("default_device", "jax_default_device", "from_dlpack"),
    LISTED_DEVICES,
    AllOf(AnyOf(b"cpu", b"gpu", b"tpu"), Pattern(rb"[\"'](?:cpu|gpu|tpu)[\"']")),
)
"""Code by which an array may surely be elsewhere than on the default device."""

SETS_VARIABLES = AnyOf(
    b"putenv",
    Pattern(
        rb"environ\b(?:[\s\\)]*(?:\[[^\[\]]*\][\s\\)]*[-+*/|&^%@<>]{0,3}=(?!=)"
        rb"|\.[\s\\]*(?:setdefault|update)\b)|(?![\s\\)]*[\[.]))",
        word=b"environ",
    ),
)
"""Code that sets an environment variable, or uses `os.environ` as a whole."""
