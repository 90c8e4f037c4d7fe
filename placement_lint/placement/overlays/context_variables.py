"""Context variables: `contextvars.ContextVar("name", default=x)`, and what they are set to.

What one holds depends on the context, in which other code may have set it: it is its default, or
anything that the program sets it to, by any name, as far as all of that was executed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.libraries.context_variables import CONTEXT_VARIABLE
from placement_lint.placement.domain.program_values import Instance
from placement_lint.placement.domain.values import NONE, NOTHING, UNKNOWN, Value, join
from placement_lint.placement.overlays.namespaces import namespace_of
from placement_lint.placement.overlays.registry import ObjectCall, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.placement.domain.places import Place

_DEFAULT = "default"
_MOST_NAMES = 8
"""By which one variable is set."""


@objects(CONTEXT_VARIABLE)
def context_variable(call: ObjectCall) -> Value:
    """`contextvars.ContextVar("name", default=x)`."""
    given = call.argument(None, _DEFAULT)
    return namespace_of(call, {} if given is None else {_DEFAULT: given})


@objects(f"{CONTEXT_VARIABLE}.set")
def set_to(call: ObjectCall) -> Value:
    """`variable.set(x)`, which returns a token."""
    given = call.argument(0, "value")
    if isinstance(call.receiver, Instance) and given is not None:
        key = (call.receiver, _set_at(call.place))
        call.program.objects.named_attribute(*key)
        before = call.program.held(key, call.state)
        call.program.bind(key, given if before is None else join(before, given), call.state)
    return UNKNOWN


@objects(f"{CONTEXT_VARIABLE}.reset")
def reset(_call: ObjectCall) -> Value:
    """`variable.reset(token)`: it may be set to that still, in another context."""
    return NONE


@objects(f"{CONTEXT_VARIABLE}.get")
def got(call: ObjectCall) -> Value:
    """`variable.get()`, `variable.get(x)`."""
    variable = call.receiver
    name = None if not isinstance(variable, Instance) else _name_of(call, variable)
    if name is None or not isinstance(variable, Instance):
        return UNKNOWN
    given = call.argument(0, _DEFAULT)
    if given is None:
        given = call.program.held((variable, _DEFAULT), call.state) or NOTHING
    found = [given]
    names = _names_known(call, name)
    if names is None:
        return UNKNOWN
    for place in (place for each in sorted(names) for place in _places_set(call, each)):
        held = call.program.held((variable, _set_at(place)), call.state)
        if held is None:
            return UNKNOWN
        found.append(held)
    return join(*found) or UNKNOWN


def _set_at(place: Place) -> str:
    """Return the attribute in which is kept what a call sets a variable to."""
    return f"set {place.module}:{place.node}"


def _name_of(call: ObjectCall, variable: Instance) -> str | None:
    """Return the only name of a context variable, by which it is set."""
    module = call.program.module_of(variable.cls)
    assigned = module.tree.parent(call.program.node(variable.cls))
    if isinstance(assigned, cst.AnnAssign):
        target: cst.BaseExpression = assigned.target
    elif isinstance(assigned, cst.Assign) and len(assigned.targets) == 1:
        target = assigned.targets[0].target
    else:
        return None
    return target.value if isinstance(target, cst.Name) else None


def _names_known(call: ObjectCall, name: str) -> set[str] | None:
    """Return all names by which something in the program may set a context variable of a name.

    None where it is passed on, to what may set it by other names.
    """
    found, pending = {name}, [name]
    while pending:
        each = pending.pop()
        for module in call.program.modules.values():
            for other in module.names_given.get(each, ()):
                if other is None or len(found) > _MOST_NAMES:
                    return None
                if other not in found:
                    found.add(other)
                    pending.append(other)
    return found


def _places_set(call: ObjectCall, name: str) -> Iterator[Place]:
    """Yield the calls that may set a context variable of a name, in all of the program."""
    for module in call.program.modules.values():
        for each in module.setting_calls.get(name, ()):
            yield module.place(each)
