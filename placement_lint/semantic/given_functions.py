"""Functions that code gives to something that must not compute with JAX, and what they compute."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.callbacks import DATA_LOADER, HOST_CALLBACKS, runs_on_device
from placement_lint.jaxmodel.donation import TREE_MAPS
from placement_lint.jaxmodel.transfer import TABLE, Effect
from placement_lint.semantic.array_operators import ON_ARRAYS, operation_on_array, operations
from placement_lint.semantic.datasets import (
    DATASET_METHODS,
    applied_by,
    classes_made_by,
    datasets_in,
)
from placement_lint.semantic.elsewhere import effects_of, method_effects
from placement_lint.semantic.enclosing import failure_is_expected
from placement_lint.semantic.followed import bound_before, followed
from placement_lint.semantic.functions import made_function, nodes_inside
from placement_lint.semantic.given_to_parameters import items_passed_for, passed_for
from placement_lint.semantic.object_classes import (
    SUPER,
    called_method,
    class_called,
    kept_by_class,
)
from placement_lint.semantic.program_queries import (
    GIVING,
    EffectOrigin,
    GivenComputation,
    GivenTo,
)
from placement_lint.semantic.returned import given_by
from placement_lint.semantic.spread_options import AllArguments, constant_beside
from placement_lint.semantic.worker_choices import chosen_with_workers
from placement_lint.semantic.written_tables import choices, is_taken, listed_items, registered
from placement_lint.syntax.calls import Arguments, integer_value, is_none, string_value
from placement_lint.syntax.definitions import (
    function_of,
    initializer,
    is_as_written,
    method_of_class,
    parameter_named,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from placement_lint.placement.facts.traced import Traced
    from placement_lint.semantic.file_view import FileView
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.semantic.program_queries import FunctionEffects
    from placement_lint.syntax.definitions import Function

TORCH = DATA_LOADER
GRAIN = frozenset({"grain.DataLoader", "grain.python.DataLoader"})

_STATIC = frozenset({"builtins.staticmethod"})
_MOST_STEPS = 64
"""In the making of one dataset."""
_FILES = 3
"""Through which functions are followed, beside the one that gives one."""
_SOURCES = frozenset(
    f"grain.{part}MapDataset.{name}" for part in ("", "python.") for name in ("range", "source")
)
_CONVERTING = frozenset({"jax.device_put", "jax.numpy.array", "jax.numpy.asarray"})
"""What starts the backend of a worker, and makes an array there that hangs when it is read."""
PREFETCH = "mp_prefetch"
"""The method of a dataset of grain that starts workers."""
PROCESSES = "num_proc"
"""The argument of `map` and `filter` of a dataset of Hugging Face that starts processes."""
_MAPPING = frozenset({"filter", "map"})
_FORMATTING = "with_format"

_COMPILED = "a compiled function"
_OPERATION_METHODS = ("map", "random_map", "flat_map", "filter", "map_with_index")


@dataclass(frozen=True)
class FirstComputation:
    """The first computation of what a call is given."""

    to: GivenTo
    call: cst.Call
    name: str
    """What computes; nothing for a compiled function."""
    node: cst.CSTNode | None
    """Where it is in this file."""
    origin: EffectOrigin | None = None
    """Where it is in another one."""
    is_certain: bool = True


def computation_given(call: cst.Call, view: FileView) -> FirstComputation | None:
    """Return the first computation that a call lets a callback or a worker process run.

    That may be in another file of the run. None where it runs none, as far as that is known.
    """
    return next(computations_given(call, view), None)


def computations_given(call: cst.Call, view: FileView) -> Iterator[FirstComputation]:
    """Yield the first computation of each function that a call lets one of them run."""
    name = view.called(call)
    if name in HOST_CALLBACKS:
        found = _of_callback(call, view)
        if found is not None:
            yield found
        return
    starter = _starter(call, name, view)
    if starter is not None:
        yield from _of_workers(call, view, starter)


def _starter(call: cst.Call, name: str | None, view: FileView) -> str | None:
    """Return which of the calls that may start workers one is: of this name."""
    if name == TORCH or name in GRAIN:
        return name
    if name is None or name.startswith("builtins."):
        derived = _derived_loader(call, view)
        if derived is not None and _derives_from_loader(derived, view):
            return TORCH
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else None
    if method == PREFETCH:
        return PREFETCH
    if name is None and method in _MAPPING and Arguments(call).get(None, PROCESSES) is not None:
        return PROCESSES
    return None


# -- host callbacks -------------------------------------------------------------------------------


def _of_callback(call: cst.Call, view: FileView) -> FirstComputation | None:
    callback = Arguments(call).get(0, "callback")
    if callback is None or failure_is_expected(call, view):
        return None
    for each, is_certain in choices(callback, view):
        found = _computation_of(each, call, view)
        if found is not None:
            return found if is_certain else replace(found, is_certain=False)
    for function in registered(followed(callback, view), view):
        if isinstance(function, cst.FunctionDef):
            found = _first_in(
                function, GivenTo.CALLBACK, call, view, runs_on_device, is_certain=False
            )
            if found is not None:
                return found
    return None


def _computation_of(
    callback: cst.BaseExpression, call: cst.Call, view: FileView
) -> FirstComputation | None:
    if _is_compiled(callback, view):
        return FirstComputation(GivenTo.CALLBACK, call, "", callback)
    function = _function(callback, view)
    if function is not None:
        of = class_called(callback, view)
        return _first_in(function, GivenTo.CALLBACK, call, view, runs_on_device, of=of)
    for effects in (
        effects_of(callback, view, _FILES, any_key=True),
        method_effects(callback, "__call__", view, _FILES),
    ):
        if effects is not None and effects.is_traced:
            return FirstComputation(GivenTo.CALLBACK, call, "", callback)
        origin = _origin(effects, runs_on_device)
        if origin is not None:
            return FirstComputation(GivenTo.CALLBACK, call, origin.what, None, origin)
    return None


def _function(node: cst.BaseExpression, view: FileView) -> Function | None:
    """Return the function of this file that runs when something is called that was given."""
    return (
        function_of(node, view.names, _STATIC)
        or called_method(node, view)
        or made_function(node, view)
        or function_of(given_by(node, view), view.names, _STATIC)
    )


def _is_compiled(function: cst.BaseExpression, view: FileView) -> bool:
    """Return whether an expression is a JAX function, or one that `jax.jit` made."""
    name = view.name(function)
    if name is not None and runs_on_device(name):
        return True
    maker = view.called(given_by(function, view))
    row = TABLE.get(maker or "")
    if row is not None and row.effect is Effect.TRANSFORM:
        return True
    defined = function_of(function, view.names)
    traced = view.module.fact(_traced)
    return isinstance(defined, cst.FunctionDef) and traced.computation(defined) is not None


def _traced(facts: ModuleFacts) -> Traced:
    from placement_lint.placement.facts.traced import Traced

    return Traced(facts.tree, facts.names)


# -- worker processes -----------------------------------------------------------------------------


def _of_workers(call: cst.Call, view: FileView, name: str) -> Iterator[FirstComputation]:
    if not starts_workers(call, view, name):
        return
    workers = _workers(call, name, view)
    # None: some number that is not written out.
    count = None if workers is None else _count(workers, view)
    given = _given(call, name, view)
    for each, _, is_run in given.objects if name == TORCH else ():
        made = given_by(each, view)
        if isinstance(made, cst.Call) and gives_jax_arrays(made):
            is_certain = is_run and count is not None
            yield FirstComputation(GivenTo.WORKERS, call, _FORMATTING, made, None, is_certain)
    for effects, is_run in _run_elsewhere(given, view):
        origin = _origin(effects, _computes)
        if origin is not None:
            is_certain = is_run and count is not None
            yield FirstComputation(GivenTo.WORKERS, call, origin.what, None, origin, is_certain)
    for function, is_run, of in _run_here(given, view):
        is_certain = is_run and count is not None
        found = _first_in(
            function, GivenTo.WORKERS, call, view, _computes, is_certain=is_certain, of=of
        )
        if found is not None:
            yield found


def gives_jax_arrays(call: cst.Call) -> bool:
    """Return whether a call gives a dataset of Hugging Face whose items are arrays of JAX."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != _FORMATTING:
        return False
    return string_value(Arguments(call).get(0, "type")) == "jax"


def computation_in(
    function: Function, to: GivenTo, call: cst.Call, view: FileView
) -> FirstComputation | None:
    """Return the first computation of a function of this file that something is given elsewhere.

    `call`: the one that gives it, perhaps in another file.
    """
    computes = _computes if to is GivenTo.WORKERS else runs_on_device
    return _first_in(function, to, call, view, computes, is_certain=False)


def starts_workers(call: cst.Call, view: FileView, name: str = TORCH) -> bool:
    """Return whether a loader runs what it is given in processes that may touch JAX."""
    if not has_workers(call, view, name) or failure_is_expected(call, view):
        return False
    return not (_spawns(call) and view.module.fact(_is_kept_off))


def has_workers(call: cst.Call, view: FileView, name: str = TORCH) -> bool:
    """Return whether a loader may run what it is given in other processes."""
    workers = _workers(call, name, view)
    return workers is not None and _count(workers, view) != 0


def _is_said_elsewhere(call: cst.Call, name: str, view: FileView) -> bool:
    """Return whether another file may say how many workers a loader has, perhaps none.

    It is known where the files are executed as one program.
    """
    workers = None if view.module.has_siblings else _workers(call, name, view)
    node = None if workers is None else given_by(workers, view)
    said = view.name(node.func if isinstance(node, cst.Call) else node)
    first = (said or "builtins").partition(".")[0]
    return first != "builtins" and first not in sys.stdlib_module_names


def _derived_loader(call: cst.Call, view: FileView) -> cst.ClassDef | None:
    """Return the class of this file of which a call may make a loader with these arguments.

    It is called itself, without an initializer of its own, or this is `super().__init__(…)` in it.
    """
    function = call.func
    if isinstance(function, cst.Name):
        made = view.names.sole_definition(function)
        if isinstance(made, cst.ClassDef) and initializer(made, view.names) is None:
            return made
        return None
    if (
        not isinstance(function, cst.Attribute)
        or function.attr.value != "__init__"
        or not isinstance(function.value, cst.Call)
        or view.called(function.value) != SUPER
    ):
        return None
    return view.tree.around(call, cst.ClassDef)


def _derives_from_loader(cls: cst.ClassDef, view: FileView) -> bool:
    return any(view.name(base.value) == TORCH for base in cls.bases)


def _count(workers: cst.BaseExpression, view: FileView) -> int | None:
    """Return a number of workers: of a parameter, what all calls pass, or its default; None: it is
    not known.
    """
    node = given_by(workers, view)
    passed = {integer_value(given_by(each.given[0], view)) for each in passed_for(node, view)}
    if len(passed) == 1:
        return passed.pop()
    if isinstance(node, cst.Name) and not passed:
        parameter = parameter_named(node, view.names)
        if parameter is not None and parameter.default is not None:
            return integer_value(parameter.default)
    return integer_value(constant_beside(node, view) or node)


def _workers(call: cst.Call, name: str, view: FileView) -> cst.BaseExpression | None:
    """Return the number of workers of a loader."""
    arguments = Arguments(call)
    if name == TORCH:
        return AllArguments(call, view).get(5, "num_workers")
    if name in GRAIN:
        return arguments.get(None, "worker_count")
    if name == PROCESSES:
        processes = arguments.get(None, PROCESSES)
        return None if processes is not None and is_none(processes) else processes
    options = arguments.get(0, "options")
    options = None if options is None else given_by(options, view)
    return Arguments(options).get(0, "num_workers") if isinstance(options, cst.Call) else options


def _spawns(call: cst.Call) -> bool:
    context = Arguments(call).get(None, "multiprocessing_context")
    return string_value(context) in {"spawn", "forkserver"}


def _is_kept_off(facts: ModuleFacts) -> bool:
    """Return whether the file mentions the platform: workers may be told to use the CPU."""
    return any(
        string_value(node) in {"JAX_PLATFORMS", "jax_platforms", "JAX_PLATFORM_NAME"}
        for node in facts.tree.every(cst.SimpleString)
    )


def _computes(name: str) -> bool:
    return runs_on_device(name) or name in _CONVERTING


@dataclass(frozen=True)
class _Given:
    """What a loader's workers call: functions, if that is certain, and methods of objects."""

    functions: list[tuple[cst.BaseExpression, bool]]
    objects: list[tuple[cst.BaseExpression, tuple[str, ...], bool]]


def _given(call: cst.Call, name: str, view: FileView) -> _Given:
    arguments = Arguments(call)
    functions: list[cst.BaseExpression | None] = []
    objects: list[tuple[cst.BaseExpression | None, tuple[str, ...]]] = []
    applied: list[tuple[cst.BaseExpression, bool]] = []
    passed: list[tuple[cst.BaseExpression, tuple[str, ...]]] = []
    if name == PREFETCH:
        source, transforms = _pipeline(call, view)
        functions += transforms
        objects.append((source, DATASET_METHODS))
        objects += [(each, _OPERATION_METHODS) for each in transforms]
    elif name == PROCESSES:
        functions = [arguments.get(0, "function")]
    elif name == TORCH:
        arguments = AllArguments(call, view)
        collate, workers = arguments.get(6, "collate_fn"), arguments.get(5, "num_workers")
        if collate is not None:
            collate = chosen_with_workers(collate, workers, view)
        functions = [collate, arguments.get(10, "worker_init_fn")]
        dataset = arguments.get(0, "dataset")
        for each in () if dataset is None else datasets_in(dataset, view):
            objects.append((each, DATASET_METHODS))
            applied += applied_by(each, view)
    else:
        source, listed = arguments.get(None, "data_source"), arguments.get(None, "operations")
        objects.append((source, DATASET_METHODS))
        steps = () if listed is None else listed_items(listed, view)
        objects += [(each, _OPERATION_METHODS) for each in steps]
        passed += _passed_to(call, source, listed, view)
    applied += ((each, True) for each in functions if each is not None)
    chosen = [
        (each, is_certain and is_sure)
        for given, is_certain in applied
        for each, is_sure in choices(given, view)
    ]
    made = [
        (each, methods, is_sure)
        for given_object, methods in objects
        if given_object is not None
        for each, is_sure in choices(given_object, view)
    ]
    made += [
        (each, methods, False) for given, methods in passed for each, _ in choices(given, view)
    ]
    return _Given(chosen, made)


def _passed_to(
    call: cst.Call,
    source: cst.BaseExpression | None,
    operations: cst.BaseExpression | None,
    view: FileView,
) -> Iterator[tuple[cst.BaseExpression, tuple[str, ...]]]:
    """Yield what calls of the function around pass to a loader of grain, if it has workers then."""
    workers = _workers(call, next(iter(GRAIN)), view)
    counts = () if workers is None else passed_for(workers, view)
    without = {id(each.call) for each in counts if _count(each.given[0], view) == 0}
    sources = () if source is None else passed_for(source, view)
    lists = () if operations is None else items_passed_for(operations, view)
    for passed, methods in ((sources, DATASET_METHODS), (lists, _OPERATION_METHODS)):
        for each in passed:
            if id(each.call) not in without:
                yield from ((given, methods) for given in each.given)


def _pipeline(
    call: cst.Call, view: FileView
) -> tuple[cst.BaseExpression | None, list[cst.BaseExpression]]:
    """Return what a dataset of grain reads its items of, and what it is mapped by before a call on
    it: `MapDataset.source(x).map(f).g()`.

    Also step by step, `dataset = dataset.map(f)`, as far as that is certain.
    """
    found: list[cst.BaseExpression] = []
    node: cst.BaseExpression = call
    for _ in range(_MOST_STEPS):
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            break
        if view.called(node) in _SOURCES:
            is_source = node.func.attr.value == "source"
            return Arguments(node).get(0, "source") if is_source else None, found[::-1]
        arguments = Arguments(node)
        given = (
            arguments.get(0, "transform")
            if node.func.attr.value in _OPERATION_METHODS
            else arguments.get(None, "batch_fn")
        )
        if given is not None:
            found.append(given)
        before = node.func.value
        bound = bound_before(before, view) if isinstance(before, cst.Name) else None
        node = bound if isinstance(bound, cst.BaseExpression) else followed(before, view)
    return None, []


def _run_here(
    given: _Given, view: FileView
) -> Iterator[tuple[Function, bool, cst.ClassDef | None]]:
    """Yield the functions of this file that a loader's workers call, and if that is certain, and of
    a method the class of the object.
    """
    for each, is_certain in given.functions:
        found = registered(followed(each, view), view)
        yield from ((made, False, None) for made in found if isinstance(made, cst.FunctionDef))
        function = _function(each, view)
        # A decorated function may be anything.
        if function is not None and is_as_written(function, view.names):
            yield function, is_certain, class_called(each, view)
    for made, methods, is_certain in given.objects:
        for method, is_sure, of in _methods(made, methods, view):
            yield method, is_certain and is_sure, of


def _run_elsewhere(given: _Given, view: FileView) -> Iterator[tuple[FunctionEffects, bool]]:
    """Yield what a loader's workers run of other files, and if that is certain."""
    for each, is_certain in given.functions:
        effects = _effects(each, view)
        if effects is not None:
            yield effects, is_certain and not is_taken(followed(each, view))
    for made, methods, is_certain in given.objects:
        for method in methods:
            effects = method_effects(made, method, view, _FILES)
            if effects is not None:
                yield effects, is_certain


def _methods(
    node: cst.BaseExpression, names: tuple[str, ...], view: FileView
) -> Iterator[tuple[cst.FunctionDef, bool, cst.ClassDef]]:
    """Yield the methods of these names that an object has from the class that makes it here, and
    whether it is that class, and the class.
    """
    maker = given_by(node, view)
    for made, is_sure in classes_made_by(maker, view):
        yield from ((method, is_sure, made) for method in _inherited(made, names, view))
    if parameter_named(maker, view.names) is not None:
        # Rules import this module where LibCST may not be needed.
        from placement_lint.semantic.known_types import KnownTypes

        # What all calls of the function give for it.
        types = view.module.fact(KnownTypes)
        known = types.of(maker)
        cls = None if known is None else types.class_here(known)
        if cls is not None:
            yield from ((method, False, cls) for method in _inherited(cls, names, view))


def _inherited(
    cls: cst.ClassDef, names: tuple[str, ...], view: FileView
) -> Iterator[cst.FunctionDef]:
    """Yield the methods of these names that a class has, itself or from a base of this file."""
    found = (method_of_class(cls, name, view.names) for name in names)
    yield from (method for method in found if method is not None)


def _effects(function: cst.BaseExpression, view: FileView) -> FunctionEffects | None:
    """Return what calling something of another file does: a function, a method, an object."""
    found = effects_of(function, view, _FILES, any_key=True)
    return found or method_effects(function, "__call__", view, _FILES)


# -- both -----------------------------------------------------------------------------------------


def _first_in(
    function: Function,
    to: GivenTo,
    given: cst.Call,
    view: FileView,
    computes: Callable[[str], bool],
    *,
    is_certain: bool = True,
    of: cst.ClassDef | None = None,
) -> FirstComputation | None:
    """Return the first computation of a function of this file, in another one where that has it.

    `of`: the class of the object whose method it is.
    """
    for node in nodes_inside(function, view, operations(), traced=to is GivenTo.WORKERS, of=of):
        name = called_or_mapped(node, view) if isinstance(node, cst.Call) else None
        if name is not None and computes(name):
            return FirstComputation(to, given, name, node, None, is_certain)
        operation = operation_on_array(node, view)
        if operation is not None:
            at, name = _made_in(operation[0], view, computes) or operation
            return FirstComputation(to, given, name, at, None, is_certain)
        if not isinstance(node, cst.Call):
            continue
        effects = _effects(kept_by_class(node.func, of, view) or node.func, view)
        if _is_compiled(node.func, view) or (effects is not None and effects.is_traced):
            return FirstComputation(to, given, _COMPILED, node, None, is_certain)
        origin = _origin(effects, computes)
        if origin is not None:
            return FirstComputation(to, given, origin.what, None, origin, is_certain)
    return None


def called_or_mapped(call: cst.Call, view: FileView) -> str | None:
    """Return the name of what a call runs: of `jax.tree.map(f, tree)`, that of `f`."""
    name = view.called(call)
    mapped = view.name(Arguments(call).get(0, "f")) if name in TREE_MAPS else None
    return mapped or name


def _made_in(
    operation: cst.BaseExpression, view: FileView, computes: Callable[[str], bool]
) -> tuple[cst.CSTNode, str] | None:
    """Return the call that computes an operand of an operation, before it, and its name."""
    for call in view.tree.every(cst.Call, below=operation):
        name = view.called(call)
        if name is not None and computes(name):
            return call, name
    return None


def _origin(
    effects: FunctionEffects | None, computes: Callable[[str], bool]
) -> EffectOrigin | None:
    """Return the first computation in a function of another file."""
    if effects is None:
        return None
    for each in effects.calls:
        if computes(each.name) or each.name.startswith(ON_ARRAYS):
            return effects.origin(each)
    return None


def given_to_others(facts: ModuleFacts) -> Iterator[tuple[str, GivenComputation]]:
    """Yield the computations of other files that a file lets something run, each with its file."""
    # Rules import this module where LibCST may not be needed.
    from placement_lint.semantic.file_view import FileView

    view = FileView(facts)
    for call in facts.tree.every(cst.Call):
        for given in computations_given(call, view):
            at = given.origin
            if at is None or at.path == facts.path:
                continue
            loader = view.called(call) or "a data loader"
            if given.to is GivenTo.WORKERS and _is_said_elsewhere(call, loader, view):
                continue
            by = EffectOrigin(facts.path, facts.line_of(call), loader)
            yield at.path, GivenComputation(at.line, at.what, given.to, by, given.is_certain)


def _given_beside(facts: ModuleFacts) -> Iterator[GivenComputation]:
    """Yield the computations in a file that others of its program let something run, where these
    know what still others define.
    """
    for path, there in sorted(facts.siblings.items()):
        if path != facts.path:
            yield from there.fact(_given_by_path).get(facts.path, ())


def _given_by_path(facts: ModuleFacts) -> dict[str, list[GivenComputation]]:
    """Return the computations of other files that a file of a program lets something run."""
    found: dict[str, list[GivenComputation]] = {}
    if any(word.decode() in facts.text for word in GIVING):
        for path, given in given_to_others(facts):
            found.setdefault(path, []).append(given)
    return found


def computations_here(
    view: FileView, to: GivenTo
) -> Iterator[tuple[cst.BaseExpression, GivenComputation]]:
    """Yield the computations here that other files let something run, with what is known of it.

    One is yielded once, however many files have it run.
    """
    given: dict[tuple[int, str], GivenComputation] = {}
    for each in (*view.module.run.given_elsewhere(view.module.path), *_given_beside(view.module)):
        if each.to is to:
            given.setdefault((each.line, each.name), each)
    if not given:
        return
    for call in view.tree.every(cst.Call):
        name = called_or_mapped(call, view) or ""
        found = given.pop((view.module.line_of(call), name), None)
        if found is not None:
            yield call, found
    operators = {line for line, name in given if name.startswith(ON_ARRAYS)}
    for node in view.tree.every(*operations()) if operators else ():
        if view.module.line_of(node) in operators:
            operation = operation_on_array(node, view)
            key = (0, "") if operation is None else (view.module.line_of(node), operation[1])
            found = given.pop(key, None)
            if operation is not None and found is not None:
                yield operation[0], found
