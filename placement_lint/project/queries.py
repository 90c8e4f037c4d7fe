"""What one file asks of the other files of its run, and what it was answered.

What is found in a file depends on its own text, on the settings, and on these answers alone: so
long as they stay what they were, there is no need to look at the file again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from placement_lint.project.dependencies import Dependencies
from placement_lint.project.donating_files import brings_donation

if TYPE_CHECKING:
    from collections.abc import Callable

    from placement_lint.project.modules import Modules
    from placement_lint.semantic.program_queries import (
        CallsAsked,
        CallsFromElsewhere,
        DonationElsewhere,
        EffectOrigin,
        FunctionEffects,
        GivenComputation,
        ImportEffects,
        KnownType,
        RunView,
    )
    from placement_lint.syntax.set_meshes import MeshSetting


class TrackedQueries:
    """The questions of one file, put to the run, and kept with their answers."""

    def __init__(self, modules: Modules, path: str, view: Callable[[], RunView]) -> None:
        """Take the run, the file of it that asks, and what gives the view of the whole."""
        self._modules = modules
        self._path = path
        self._view = view
        self._resolve = modules.resolver(path)
        self.answers = Dependencies()

    def name(self, qualified: str) -> str | None:
        """Return the name of JAX that a qualified name in the file stands for."""
        if self._is_foreign(qualified):
            return None
        names = self.answers.names
        if qualified not in names:
            names[qualified] = self._resolve(qualified)
        return names[qualified]

    # -- what rules ask: see RunView --------------------------------------------------------------

    def calls(self, path: str, function: str) -> EffectOrigin | None:
        """Return a call of a function elsewhere in the program."""
        answer = self.answers.calls[function] = self._view().calls(path, function)
        return answer

    def mentions(self, path: str, *words: bytes) -> bool:
        """Return whether one of these words is elsewhere in the program."""
        answer = self.answers.words[words] = self._view().mentions(path, *words)
        return answer

    def mesh_setting(self, path: str) -> MeshSetting:
        """Return how meshes may be set elsewhere in the program."""
        answer = self.answers.mesh_setting = self._view().mesh_setting(path)
        return answer

    def importer(self, path: str) -> str | None:
        """Return a file that imports a file."""
        answer = self.answers.importers[path] = self._view().importer(path)
        return answer

    def importing(self, path: str, name: str) -> ImportEffects:
        """Return what an import does."""
        answer = self.answers.imports[name] = self._view().importing(path, name)
        return answer

    def function(
        self, path: str, name: str, files: int = 1, file: str = ""
    ) -> FunctionEffects | None:
        """Return what calling something of another file does."""
        if not file and self._is_foreign(name):
            return None
        answer = self._view().function(path, name, files, file)
        self.answers.functions[name, files, file] = answer
        return answer

    def calls_from_elsewhere(
        self, path: str, function: str, asked: CallsAsked
    ) -> CallsFromElsewhere:
        """Return how other files call a function of a file."""
        answer = self._view().calls_from_elsewhere(path, function, asked)
        self.answers.called[function, asked] = answer
        return answer

    def tensorflow_by(self, path: str, name: str) -> EffectOrigin | None:
        """Return where TensorFlow is imported by what a file imports."""
        if self._is_foreign(name):
            return None
        answer = self.answers.tensorflow[name] = self._view().tensorflow_by(path, name)
        return answer

    def is_place_elsewhere(self, path: str, name: str) -> bool:
        """Return whether another file puts arrays on what a file binds to a name."""
        answer = self.answers.places[name] = self._view().is_place_elsewhere(path, name)
        return answer

    def given_elsewhere(self, path: str) -> tuple[GivenComputation, ...]:
        """Return the computations in a file that others let callbacks and worker processes run."""
        answer = self.answers.given = self._view().given_elsewhere(path)
        return answer

    def brings_donation(self) -> bool:
        """Return whether the file imports from one that may donate."""
        answer = self.answers.brings_donation = brings_donation(self._path, self._modules)
        return answer

    def donation(self, path: str, name: str) -> DonationElsewhere | None:
        """Return what something of another file donates."""
        if self._is_foreign(name):
            return None
        donations = self.answers.donations
        if name not in donations:
            donations[name] = self._view().donation(path, name)
        return donations[name]

    def object_type(
        self, path: str, name: str, *, called: bool, file: str = ""
    ) -> KnownType | None:
        """Return the type of what another file defines, or of what calling it gives."""
        if not file and self._is_foreign(name):
            return None
        types, key = self.answers.types, (file, name, called)
        if key not in types:
            types[key] = self._view().object_type(path, name, called=called, file=file)
        return types[key]

    def passed_types(
        self, path: str, function: str, place: int | None, name: str
    ) -> frozenset[KnownType | None]:
        """Return the types of what other files pass to a function of a file."""
        answer = self._view().passed_types(path, function, place, name)
        self.answers.passed[function, place, name] = answer
        return answer

    def is_about_version(self, path: str, name: str) -> bool | None:
        """Return whether what another file defines is worked out of the version of JAX."""
        if self._is_foreign(name):
            return None
        answer = self.answers.version_flags[name] = self._view().is_about_version(path, name)
        return answer

    def _is_foreign(self, name: str) -> bool:
        """Return whether a name is of no file of the run, and note that the file asked for it."""
        if self._modules.may_be_of_run(name):
            return False
        self.answers.foreign.add(name.partition(".")[0])
        return True


def still_hold(
    answers: Dependencies, modules: Modules, path: str, view_of_run: Callable[[], RunView]
) -> bool:
    """Return whether a file would get the same answers from the run as it is now."""
    asked = TrackedQueries(modules, path, view_of_run)
    view = view_of_run()
    return (
        not any(map(modules.may_be_of_run, answers.foreign))
        and all(asked.name(name) == known for name, known in answers.names.items())
        and all(view.calls(path, each) == known for each, known in answers.calls.items())
        and all(view.mentions(path, *each) == known for each, known in answers.words.items())
        and all(view.importing(path, each) == known for each, known in answers.imports.items())
        and all(view.importer(each) == known for each, known in answers.importers.items())
        and all(
            view.tensorflow_by(path, each) == known for each, known in answers.tensorflow.items()
        )
        and all(
            view.is_place_elsewhere(path, each) is known for each, known in answers.places.items()
        )
        and (answers.given is None or view.given_elsewhere(path) == answers.given)
        and answers.mesh_setting in {None, view.mesh_setting(path)}
        and answers.brings_donation in {None, brings_donation(path, modules)}
        and all(view.donation(path, each) == known for each, known in answers.donations.items())
        and all(view.function(path, *each) == known for each, known in answers.functions.items())
        and all(
            view.object_type(path, name, called=called, file=file) == known
            for (file, name, called), known in answers.types.items()
        )
        and all(view.passed_types(path, *each) == known for each, known in answers.passed.items())
        and all(
            view.is_about_version(path, each) is known
            for each, known in answers.version_flags.items()
        )
        and all(
            view.calls_from_elsewhere(path, *each) == known
            for each, known in answers.called.items()
        )
    )
