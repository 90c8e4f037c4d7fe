"""What one file asks of the other files of its run, and what it was told.

What is found in a file depends on its own text, on the settings, and on these answers alone: so
long as they stay what they were, there is no need to look at the file again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from placement_lint.project.dependencies import Answers
from placement_lint.semantic.program_queries import EffectOrigin, ImportEffects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from placement_lint.project.modules import Modules
    from placement_lint.semantic.program_queries import RunView


class Questions:
    """The questions of one file, put to the run, and kept with their answers."""

    def __init__(self, modules: Modules, path: str, view: Callable[[], RunView]) -> None:
        """Take the run, the file of it that asks, and what gives the view of the whole."""
        self._modules = modules
        self._path = path
        self._view = view
        self._resolve = modules.resolver(path)
        self.answers = Answers()

    def name(self, qualified: str) -> str | None:
        """Give the name of JAX that a qualified name in the file stands for."""
        if not self._modules.may_be_of_run(qualified):
            self.answers.foreign.add(qualified.partition(".")[0])
            return None
        names = self.answers.names
        if qualified not in names:
            names[qualified] = self._resolve(qualified)
        return names[qualified]

    # -- what rules ask: see RunView --------------------------------------------------------------

    def calls(self, path: str, function: str) -> EffectOrigin | None:
        """Give a call of a function elsewhere in the program."""
        answer = self.answers.calls[function] = self._view().calls(path, function)
        return answer

    def mentions(self, path: str, *words: bytes) -> bool:
        """Tell whether one of these words is elsewhere in the program."""
        answer = self.answers.words[words] = self._view().mentions(path, *words)
        return answer

    def importer(self, path: str) -> str | None:
        """Give a file that imports a file."""
        answer = self.answers.importers[path] = self._view().importer(path)
        return answer

    def importing(self, path: str, name: str) -> ImportEffects:
        """Give what an import does."""
        answer = self.answers.imports[name] = self._view().importing(path, name)
        return answer


def still_hold(
    answers: Answers, modules: Modules, path: str, view_of_run: Callable[[], RunView]
) -> bool:
    """Tell whether a file would be told the same by the run as it is now."""
    asked = Questions(modules, path, view_of_run)
    view = view_of_run()
    return (
        not any(map(modules.may_be_of_run, answers.foreign))
        and all(asked.name(name) == told for name, told in answers.names.items())
        and all(view.calls(path, each) == told for each, told in answers.calls.items())
        and all(view.mentions(path, *each) == told for each, told in answers.words.items())
        and all(view.importing(path, each) == told for each, told in answers.imports.items())
        and all(view.importer(each) == told for each, told in answers.importers.items())
    )


def to_json(answers: Answers) -> list[Any]:
    """Give answers as what JSON has."""
    return [
        answers.names,
        sorted(answers.foreign),
        {function: _origin_to(told) for function, told in answers.calls.items()},
        [[[*map(_text, words)], told] for words, told in answers.words.items()],
        {name: effects_to_json(told) for name, told in answers.imports.items()},
        answers.importers,
    ]


def from_json(value: Any) -> Answers:
    """Give what `to_json` has made into JSON."""
    names, foreign, calls, words, imports, importers = value
    return Answers(
        dict(names),
        set(foreign),
        {function: _origin_from(told) for function, told in calls.items()},
        {tuple(map(_bytes, each)): told for each, told in words},
        {name: effects_from_json(told) for name, told in imports.items()},
        dict(importers),
    )


def effects_to_json(effects: ImportEffects) -> list[Any]:
    """Give what an import does as what JSON has."""
    variables: Mapping[str, EffectOrigin] = effects.sets_variables
    return [
        _origin_to(effects.imports_jax),
        _origin_to(effects.starts_backend),
        {name: _origin_to(origin) for name, origin in variables.items()},
        _origin_to(effects.gives_backend_up),
    ]


def effects_from_json(value: Any) -> ImportEffects:
    """Give what `effects_to_json` has made into JSON."""
    imports_jax, starts_backend, variables, given_up = value
    return ImportEffects(
        _origin_from(imports_jax),
        _origin_from(starts_backend),
        {name: EffectOrigin(*origin) for name, origin in variables.items()},
        _origin_from(given_up),
    )


def _origin_to(origin: EffectOrigin | None) -> list[Any] | None:
    return None if origin is None else [origin.path, origin.line, origin.what]


def _origin_from(value: Any) -> EffectOrigin | None:
    return None if value is None else EffectOrigin(*value)


def _text(word: bytes) -> str:
    return word.decode("latin-1")


def _bytes(word: str) -> bytes:
    return word.encode("latin-1")
