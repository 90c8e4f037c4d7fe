"""Calls of functions of libraries, and of methods of what is no object of the file."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.donation import (
    ARRAYS,
    COPYING,
    FILTERS_OF_ARRAYS,
    HANDING_ON,
    KEEPING,
    MAKING_RECORDS,
    METADATA,
    READING,
    READING_FUNCTIONS,
    READING_METHODS,
    REGROUPING,
    SHARING,
    TREE_MAPS,
    UPDATES,
    WITHOUT_DATA,
)
from placement_lint.jaxmodel.reading import PRINTING
from placement_lint.semantic.donation.buffers import Nature, Surety
from placement_lint.semantic.donation.callables import (
    Donor,
)
from placement_lint.semantic.donation.choices import NOTHING, Choice, either, unlikely
from placement_lint.semantic.donation.expressions import (
    DATA,
    DonationExpressions,
    is_list,
    item_key,
    literal_key,
)
from placement_lint.semantic.donation.parts import (
    LAST,
    BufferPart,
    attribute_dict,
    container_of,
    item_of,
)
from placement_lint.semantic.donation.readings import text_of
from placement_lint.semantic.replaced_names import is_replaced
from placement_lint.semantic.written_shardings import splits_nothing
from placement_lint.syntax.dotted import dotted
from placement_lint.syntax.tree import children

if TYPE_CHECKING:
    from collections.abc import Sequence

    from placement_lint.semantic.donation.choices import Thing, Things
    from placement_lint.semantic.model import ModuleFacts

_MAX_STEPS = 5
_WITHOUT_READING = re.compile(
    r"(?i)delete|free|shape|struct|abstract|spec|deleted|sharding|type|describe|summar|count|"
    r"donat|aval|size|dtype|signature|lower|partition"
)
"""In the names of functions that nobody follows: they take no data, as far as anyone can tell."""


@dataclass(frozen=True)
class Given:
    """One argument of a call."""

    at: int | str | None
    """Its position or its keyword; None where a star passes it."""
    node: cst.BaseExpression
    things: Things
    is_receiver: bool = False
    """It is the object that a method is called on."""
    passed_on: cst.BaseExpression | None = None
    """What the function around it was given, which passes it on by a star."""
    is_item: bool = False
    """It is an item of what is written there, which a star passes."""

    @property
    def text(self) -> str:
        """Return what the argument is called where it comes from."""
        return text_of(self.passed_on or self.node)


class DonationLibraries(DonationExpressions):
    """The evaluation of calls that leave the file."""

    def __init__(self, facts: ModuleFacts) -> None:
        super().__init__(facts)
        self.packed: dict[int, dict[str, Given]] = {}
        """By root, what tuples and dicts of further arguments hold: `*args` and `**kwargs`."""
        self._by_text: dict[int, frozenset[str]] = {}
        """By function, the names of which it takes items by a text."""

    def _arguments(self, node: cst.Call) -> list[Given]:
        self.targets = ()
        found: list[Given] = []
        is_open = False
        shift = 0
        for place, each in enumerate(node.args):
            at: int | str | None = place + shift
            packed = self.unpacked(each) if each.star and not is_open else None
            things = self.evaluate(each.value) if packed is None else NOTHING
            if packed is None and each.star and not is_open:
                packed = self._items_of(each, things)
            if packed is not None:
                found += [replace(one, at=_at(one.at, place + shift)) for one in packed]
                shift += len(packed) - 1 if each.star == "*" else 0
                continue
            is_open |= each.star == "*"
            if each.keyword is not None:
                at = each.keyword.value
            elif is_open or each.star:
                at = None
            found.append(Given(at, each.value, things))
        return found

    def unpacked(self, argument: cst.Arg) -> list[Given] | None:
        """Return the arguments that a star passes on; None where they are not known.

        They are those that the function got which the call is in: `fn(*args, **kwargs)`.
        """
        if not isinstance(argument.value, cst.Name):
            return None
        things = self.evaluate(argument.value)
        only = next(iter(things)) if len(things) == 1 else None
        if not isinstance(only, BufferPart) or only.keys:
            return None
        packed = self.packed.get(only.root)
        now = self.state.parts.get(only.root)
        if packed is None or now != {(key,): each.things for key, each in packed.items()}:
            return None
        return [
            Given(_written_key(key), argument.value, each.things, passed_on=each.node)
            for key, each in packed.items()
        ]

    def _items_of(self, argument: cst.Arg, things: Things) -> list[Given] | None:
        """Return the arguments that a star takes of a tuple, a list or a dict that is known."""
        only = next(iter(things)) if len(things) == 1 else None
        entries = self.state.entries(only, self.roots) if isinstance(only, BufferPart) else None
        if entries is None or is_list(entries) is (argument.star == "**"):
            return None
        return [
            Given(_written_key(key), argument.value, each, is_item=True)
            for key, each in entries.items()
        ]

    def _unknown(self, node: cst.Call, given: Sequence[Given], callee: Things = NOTHING) -> Things:
        """Call what nobody follows: it may read what it is given, and change objects."""
        said = dotted(node.func) or ""
        is_reading = _WITHOUT_READING.search(said.rpartition(".")[2]) is None
        if callee and is_reading:
            self.read(node.func, callee, Surety.LIKELY)
        for each in given:
            if is_reading:
                self.read(each.node, each.things, Surety.LIKELY)
            self._may_change(each.things)
        return self.fresh(is_foreign=True)

    def _may_change(self, things: Things) -> None:
        """Know nothing more of what an object holds, after it went where nobody follows."""
        for each in things:
            if isinstance(each, BufferPart) and self.roots[each.root].nature is not Nature.ARRAY:
                self.state.forget(each, itself=False)

    # -- libraries --------------------------------------------------------------------------------

    def name_of_called(self, node: cst.Call) -> str | None:
        """Return the qualified name of what a call runs; `functools.wraps(f)(g)` gives g."""
        inner = node.func.func if isinstance(node.func, cst.Call) else None
        if inner is not None and self.names.qualified(inner) == "functools.wraps":
            return "functools.update_wrapper"
        name = self.names.qualified(node.func)
        if name is None or not self.facts.may_replace_names:
            return name
        return None if is_replaced(name, node, self.facts) else name

    def _takes_arrays(self, node: cst.Call) -> bool:
        """Return whether `equinox.filter` keeps all arrays: `filter(model, is_array)`."""
        kept = node.args[1].value if len(node.args) == 2 else None
        return kept is not None and self.names.qualified(kept) in FILTERS_OF_ARRAYS

    def _library(self, node: cst.Call, name: str) -> Things:
        """Call a function of a library."""
        given = self._arguments(node)
        first = given[0].things if given and given[0].at == 0 else NOTHING
        last = name.rpartition(".")[2]
        if name in TREE_MAPS:
            return self._tree_map(given)
        if name in HANDING_ON:
            handed = [each.things for each in given if each.at in HANDING_ON[name]]
            return handed[0] if handed else self._unknown(node, given)
        if name == "jax.device_put" and first:
            return self._put(given, first)
        if name == "equinox.filter" and not self._takes_arrays(node):
            # Some of the parts, or the others.
            return self.fresh(is_foreign=True)
        if name == "equinox.combine":
            # Of the other trees it takes what the first one leaves out.
            return self._unknown(node, given[:1])
        if name in SHARING and first:
            return self._sharing(name, given, first)
        if name == "flax.nnx.split" and len(given) == 1:
            part = self.root(Nature.TREE)
            self.state.parts[part.root] = {("[0]",): DATA, ("[1]",): first}
            return frozenset({part})
        if name == "flax.nnx.update" and first:
            # The object gets the arrays that it is given, whatever became of its own.
            self.state.renew(first, self.roots)
            return DATA
        if name in REGROUPING:
            made = self._regrouped(given)
            self.update_items(made, given[1:])
            return made
        if name in {"builtins.next", "builtins.iter"}:
            return self.fresh(is_foreign=True)
        if first and (of_object := self._of_object(name, given, first)) is not None:
            return of_object
        if name in MAKING_RECORDS:
            return self.record(given)
        if name in WITHOUT_DATA:
            return DATA if name.startswith(("builtins.", "numpy.")) else self._array(name, last)
        if name in READING_FUNCTIONS or name.startswith(READING):
            return self._reading(name, given, first)
        if name.startswith("builtins."):
            return DATA if last in {"range", "len", "str", "open", "print"} else self.fresh()
        if name.startswith("jax.experimental.multihost_utils."):
            return self.fresh()
        return self._unknown(node, given)

    def _sharing(self, name: str, given: Sequence[Given], first: Things) -> Things:
        """Call a function that gives its first argument, or what shares its buffers."""
        if name == "jax.block_until_ready":
            self.read(given[0].node, first, deep=True)
        if name != "jax.numpy.asarray":
            return first
        nature = self.nature(first)
        if len(given) > 1 or nature is Nature.DATA:
            return self.fresh(Nature.ARRAY)
        if nature is Nature.UNKNOWN:
            # To call it says that it may be NumPy's.
            return either(first, self.fresh(Nature.ARRAY))
        return self._shared(first)

    def _of_object(self, name: str, given: Sequence[Given], first: Things) -> Things | None:
        """Call a function that reads, sets or copies the attributes of an object; None: another."""
        if name == "builtins.vars":
            return frozenset(
                attribute_dict(each) if isinstance(each, BufferPart) else each for each in first
            )
        if name in {"builtins.setattr", "builtins.object.__setattr__"}:
            self._set_by_name(first, given[1:], is_item=False)
            return DATA
        if name == "copy.copy":
            self.read(given[0].node, first, Surety.LIKELY)
            is_array = self.nature(first) is Nature.ARRAY
            return self.fresh(Nature.ARRAY) if is_array else self._inside_copy(first)
        return self._replaced(first, given[1:]) if name == "dataclasses.replace" else None

    def _reading(self, name: str, given: Sequence[Given], first: Things) -> Things:
        """Call a function that reads its arguments."""
        is_deep = name == "builtins.sum" or not name.startswith("builtins.")
        for each in given:
            is_shown = name in PRINTING and self._is_written_out(each.node)
            self.read(each.node, each.things, deep=is_deep or is_shown)
        if name in {"numpy.asarray", "numpy.array", "jax.device_get"}:
            # The CPU lends NumPy its buffers, and keeps them for as long.
            roots = {each.root for each in first if isinstance(each, BufferPart)}
            self.state.viewed |= roots
        if name.startswith("numpy.") or name in {"jax.device_get", "builtins.float"}:
            return DATA
        return self._array(name, name.rpartition(".")[2])

    def _is_written_out(self, node: cst.CSTNode) -> bool:
        """Return whether a list, a tuple or a dict is made in an expression: objects say themselves
        what is shown of them.
        """
        is_dict = isinstance(node, cst.Call) and self.names.qualified(node.func) == "builtins.dict"
        return is_dict or isinstance(node, cst.Dict | cst.List | cst.Tuple)

    def _array(self, name: str, last: str) -> Things:
        if name.startswith("jax.numpy.") and last in ARRAYS:
            return self.fresh(Nature.ARRAY)
        if name.startswith("jax.random.") and last not in {"key_data", "key_impl"}:
            return self.fresh(Nature.ARRAY)
        if name in COPYING:
            return self.fresh(Nature.ARRAY)
        return self.fresh()

    def _put(self, given: Sequence[Given], first: Things) -> Things:
        """Put something somewhere: it shares its buffer if that is where it is."""
        if self.nature(first) is Nature.DATA:
            return self.fresh(Nature.ARRAY)
        if len(given) == 1:
            return self._put_elsewhere(first) if self._is_of_data(first) else self._shared(first)
        self.read(given[0].node, first)
        target = given[1].node
        if isinstance(target, cst.Attribute) and target.attr.value == "sharding":
            if dotted(target.value) == dotted(given[0].node):
                return first
            return self.fresh(Nature.ARRAY)
        if self._is_replicated(target) and self.nature(first) is Nature.ARRAY:
            return first
        return self._put_elsewhere(first)

    def _is_of_data(self, things: Things) -> bool:
        """Return whether a container has nothing in it that has a buffer: NumPy arrays, numbers."""
        only = next(iter(things)) if len(things) == 1 else None
        items = self.state.entries(only, self.roots) if isinstance(only, BufferPart) else None
        return bool(items) and all(each <= DATA for each in (items or {}).values())

    def _put_elsewhere(self, things: Things) -> Things:
        """Return new arrays, in a container like the one that was put there."""
        only = next(iter(things)) if len(things) == 1 else None
        items = self.state.entries(only, self.roots) if isinstance(only, BufferPart) else None
        if items is None:
            return self.fresh(Nature.ARRAY)
        made = self.root(Nature.TREE)
        self.state.parts[made.root] = {(key,): self.fresh(Nature.ARRAY) for key in items}
        return frozenset({made})

    def _shared(self, things: Things) -> Things:
        """Return the array of something: itself, or a copy where it is NumPy's."""
        is_foreign = any(
            isinstance(each, BufferPart) and self.roots[each.root].is_foreign for each in things
        )
        return either(things, self.fresh(Nature.ARRAY)) if is_foreign else things

    def _is_replicated(self, target: cst.BaseExpression) -> bool:
        """Return whether a sharding that is written out splits nothing: `NamedSharding(m, P())`."""
        for _ in range(_MAX_STEPS):
            if not isinstance(target, cst.Name) or not self.tree.contains(target):
                break
            bound = self.names.sole_value(target)
            if bound is None:
                return False
            target = bound
        return splits_nothing(target, self.names)

    def _tree_map(self, given: Sequence[Given]) -> Things:
        if len(given) < 2:
            return self.fresh()
        function, *trees = given
        name = self.names.qualified(function.node)
        if name in KEEPING or self._is_identity(function.node):
            return self._inside_copy(trees[0].things)
        if name in WITHOUT_DATA or not _reads_data(function.node):
            return self.fresh()
        for each in trees:
            self.read(each.node, each.things, deep=True)
        return self.fresh()

    def _is_identity(self, node: cst.BaseExpression) -> bool:
        if not isinstance(node, cst.Lambda) or not node.params.params:
            return False
        body, first = node.body, node.params.params[0].name.value
        return isinstance(body, cst.Name) and body.value == first

    def _regrouped(self, given: Sequence[Given]) -> Things:
        """Return what is in a container, in another one; of an array, its rows."""
        if not given:
            part = self.root(Nature.TREE)
            return frozenset({part})
        if given[0].at != 0:
            return self.fresh()
        things = given[0].things
        if self.nature(things) is Nature.ARRAY:
            self.read(given[0].node, things)
            return self.fresh()
        return self._inside_copy(things)

    def _inside_copy(self, things: Things) -> Things:
        """Return a copy of a container with the same things in it; of an array, a copy."""
        made = {each: self._like(each) for each in things}
        if len(things) == 1:
            return frozenset(made.values())
        rare = [made[each] for each in unlikely(things)]
        whole = things if isinstance(things, Choice) else None
        return Choice(made.values(), rare, whole)

    def _like(self, thing: Thing) -> Thing:
        if not isinstance(thing, BufferPart) or not thing.root:
            return thing
        nature = self.nature(frozenset({thing}))
        return self.root(nature, base=None if nature is Nature.ARRAY else thing)

    def _replaced(self, things: Things, given: Sequence[Given]) -> Things:
        """Return an object like another one, with other fields: it has the rest of it."""
        if not all(isinstance(each, BufferPart) for each in things):
            return self.fresh()
        return self.like(
            things, {(f".{each.at}",): each.things for each in given if isinstance(each.at, str)}
        )

    def record(self, given: Sequence[Given]) -> Things:
        """Return an object whose fields are what is given by keyword."""
        part = self.root(Nature.TREE)
        self.state.parts[part.root] = {
            (f".{each.at}",): each.things for each in given if isinstance(each.at, str)
        }
        return frozenset({part})

    # -- methods ----------------------------------------------------------------------------------

    def _method(self, node: cst.Call, held: Things, method: str) -> Things | None:
        """Call a method of something that is no object of the file; None where it may be one."""
        donors = [each for each in held if isinstance(each, Donor)]
        if donors and len(donors) == len(held):
            return self._of_donor(node, donors[0], method)
        if not all(
            isinstance(each, BufferPart) and not self._may_define(each, method) for each in held
        ):
            return None
        receiver = node.func.value if isinstance(node.func, cst.Attribute) else node.func
        nature = self.nature(held)
        if method in METADATA:
            self._arguments(node)
            return DATA
        if method in UPDATES and _is_at(receiver):
            self.read(receiver.value if isinstance(receiver, cst.Subscript) else receiver, held)
            self._read_all(node)
            return self.fresh(Nature.ARRAY)
        if method in READING_METHODS and nature in {Nature.ARRAY, Nature.UNKNOWN}:
            self.read(receiver, held)
            self._read_all(node)
            return DATA if method in {"item", "tolist"} else self.fresh(nature)
        if method == "copy":
            self._arguments(node)
            return self._copied(receiver, held, nature)
        if method in {"astype", "reshape"}:
            # Where nothing changes it gives the array itself, and reads nothing.
            self.read(receiver, held, Surety.LIKELY)
            self._arguments(node)
            return self.fresh(nature)
        if method in {"replace", "_replace"} and nature is not Nature.DATA:
            return self._replaced(held, self._arguments(node))
        if method == "addressable_data":
            self._arguments(node)
            self.read(receiver, held)
            return held
        if method == "apply_gradients":
            self.read(receiver, held, Surety.LIKELY)
            self._read_all(node)
            return self.fresh()
        return self._method_of_container(node, held, method)

    def _method_of_container(self, node: cst.Call, held: Things, method: str) -> Things:
        """Call a method of a list or a dict, or one that nobody knows."""
        if method in {"get", "items", "keys", "values"}:
            given = self._arguments(node)
            return self._of_mapping(held, method, given)
        if method in {"append", "extend", "add", "setdefault", "put"}:
            self._store(held, self._arguments(node), method)
            return DATA
        if method == "update":
            self.update_items(held, self._arguments(node))
            return DATA
        if method in {"insert", "sort", "reverse"}:
            # Items have other places than before.
            self._overwrite(held, self._arguments(node)[-1:])
            return DATA
        if method in {"__setitem__", "__setattr__"}:
            self._set_by_name(held, self._arguments(node), is_item=method == "__setitem__")
            return DATA
        if method in {"pop", "popitem", "clear", "remove"}:
            given = self._arguments(node)
            taken = self._popped(held, given) if method == "pop" else NOTHING
            return taken or self._emptied(held)
        return self._unknown_method(node, held)

    def _may_define(self, part: BufferPart, method: str) -> bool:
        """Return whether the file, or one that it imports, may define a method of a thing."""
        root = self.roots[part.root]
        if not part.keys and (
            root.cls is not None
            or (root.elsewhere and self.elsewhere(f"{root.elsewhere}.{method}"))
        ):
            return True
        cls = self.class_of(part)
        if cls is not None and self.class_attribute(cls, method, None):
            return True
        return self.is_assigned(part.at(f".{method}"))

    def _copied(self, receiver: cst.BaseExpression, held: Things, nature: Nature) -> Things:
        if nature is Nature.ARRAY:
            self.read(receiver, held)
            return self.fresh(Nature.ARRAY)
        shallow = self._inside_copy(held)
        if nature is Nature.UNKNOWN and not self._has_items_by_text(receiver):
            # Of an array, or of a container with the same arrays.
            self.read(receiver, held, Surety.MAYBE)
            return Choice(shallow | self.fresh(), shallow)
        return shallow

    def _has_items_by_text(self, node: cst.BaseExpression) -> bool:
        """Return whether a name, or that of its copy, surely is a dict's: `name["key"]`."""
        function = self.tree.around(node, cst.FunctionDef)
        if not isinstance(node, cst.Name) or function is None:
            return False
        assign = self.tree.around(node, cst.Assign)
        targets = () if assign is None else assign.targets
        names = {
            node.value,
            *(each.target.value for each in targets if isinstance(each.target, cst.Name)),
        }
        if id(function) not in self._by_text:
            self._by_text[id(function)] = frozenset(
                each.value.value
                for each in self.tree.every(cst.Subscript, below=function)
                if isinstance(each.value, cst.Name) and (item_key(each) or "").startswith("['")
            )
        return bool(names & self._by_text[id(function)])

    def _emptied(self, held: Things) -> Things:
        """Forget what is in containers; give what is taken out of one of them."""
        for each in held:
            if isinstance(each, BufferPart) and each.root:
                self.state.forget(each)
                self.state.drop_parts(each)
        return self.fresh()

    def _unknown_method(self, node: cst.Call, held: Things) -> Things:
        given = self._arguments(node)
        made = self._unknown(node, given)
        self._may_change(held)
        return made

    def _read_all(self, node: cst.Call) -> None:
        for each in self._arguments(node):
            self.read(each.node, each.things)

    def _of_mapping(self, held: Things, method: str, given: Sequence[Given]) -> Things:
        if method == "get" and given:
            key = literal_key(given[0].node)
            if key is not None:
                return self.parts(held, key, lambda each: self.item(each, key))
        if method == "keys":
            return DATA
        return held if method in {"items", "values"} else self.fresh()

    def _popped(self, held: Things, given: Sequence[Given]) -> Things:
        """Return the item that is taken out of a container; nothing where it is not known."""
        key = literal_key(given[0].node) if given else self._last_key(held)
        if key is None or key.startswith("[-"):
            return NOTHING
        things = self.parts(held, key, lambda each: self.item(each, key))
        for each in held:
            if not isinstance(each, BufferPart) or not each.root:
                continue
            here, known = each.at(key), self.state.parts.get(each.root, {})
            if len(held) == 1 and here.keys in known and self.roots[each.root].base is None:
                self.state.parts[each.root] = {k: v for k, v in known.items() if k != here.keys}
            else:
                self.assign(here, self.fresh())
        return things

    def _last_key(self, held: Things) -> str | None:
        only = next(iter(held)) if len(held) == 1 else None
        entries = self.state.entries(only, self.roots) if isinstance(only, BufferPart) else None
        return [*entries][-1] if entries is not None else None

    def _store(self, held: Things, given: Sequence[Given], method: str) -> None:
        only = next(iter(held)) if len(held) == 1 else None
        entries = self.state.entries(only, self.roots) if isinstance(only, BufferPart) else None
        for each in held:
            if not isinstance(each, BufferPart) or not each.root:
                continue
            for item in given:
                if method == "append" and entries is not None and is_list(entries):
                    key = f"[{len(entries)}]"
                elif method in {"append", "extend"}:
                    key = self._key_at_end(each, method)
                else:
                    key = self.new_key()
                self.assign(each.at(key), item.things)

    def _key_at_end(self, container: BufferPart, method: str) -> str:
        """Return the key of what is added to a list of unknown length, whose last item is so no
        more.
        """
        last, key = container.at(LAST), self.new_key()
        before = self.state.parts.get(container.root, {}).get(last.keys)
        if before is not None:
            # It has another place from now on, of which nothing is known.
            self.assign(container.at(key), before)
            key = self.new_key()
        if method == "append":
            return LAST
        if before is not None:
            self.assign(last, self.fresh())
        return key

    def update_items(self, held: Things, given: Sequence[Given]) -> None:
        """Put items into a dict, by keywords and from others: `state.update(new, step=step)`."""
        for item in given:
            if isinstance(item.at, str):
                self.set_parts(held, f"['{item.at}']", item.things)
                continue
            only = next(iter(item.things)) if len(item.things) == 1 else None
            found = self.state.entries(only, self.roots) if isinstance(only, BufferPart) else None
            if found is None or not all(key.startswith("['") for key in found):
                self._overwrite(held, [item])
                continue
            for key, things in found.items():
                self.set_parts(held, key, things)

    def _overwrite(self, held: Things, given: Sequence[Given]) -> None:
        """Put something in the place of any items of containers, or of all."""
        for each in held:
            if isinstance(each, BufferPart) and each.root:
                self.state.overwrite(container_of(each), self.roots, self.fresh)
        self._store(held, given, "update")

    def _set_by_name(self, held: Things, given: Sequence[Given], *, is_item: bool) -> None:
        """Call `setattr(held, name, value)`, or do so with an item."""
        if len(given) != 2:
            return
        key = literal_key(given[0].node)
        if key is None or not (is_item or key.startswith("['")):
            self._overwrite(held, given[1:])
        else:
            self.set_parts(held, key if is_item else f".{key[2:-2]}", given[1].things)

    def set_parts(self, owners: Things, key: str, held: Things) -> None:
        """Assign to a part of a thing, whichever of several it is."""
        for part in owners:
            if isinstance(part, BufferPart) and part.root:
                here = item_of(part, key)
                is_only = len(owners) == 1
                self.assign(
                    here, held if is_only else either(self.state.load(here, self.roots), held)
                )

    def _of_donor(self, node: cst.Call, donor: Donor, method: str) -> Things:
        """Call a method of a compiled function: `step.lower(state)` runs nothing."""
        self.inert += 1
        self._arguments(node)
        self.inert -= 1
        return frozenset({donor}) if method in {"lower", "compile", "trace"} else self.fresh()


def _at(at: int | str | None, before: int) -> int | str | None:
    return at + before if isinstance(at, int) else at


def _written_key(key: str) -> int | str:
    return key[2:-2] if key.startswith("['") else int(key[1:-1])


def _is_at(node: cst.BaseExpression) -> bool:
    return (
        isinstance(node, cst.Subscript)
        and isinstance(node.value, cst.Attribute)
        and node.value.attr.value == "at"
    )


def _reads_data(node: cst.BaseExpression) -> bool:
    """Return whether a function that is written out reads the arrays that it is given."""
    if not isinstance(node, cst.Lambda):
        return True
    names = {each.name.value for each in node.params.params}
    if isinstance(node.params.star_arg, cst.Param):
        names.add(node.params.star_arg.name.value)
    pending: list[cst.CSTNode] = [node.body]
    while pending:
        part = pending.pop()
        if isinstance(part, cst.Attribute) and part.attr.value in METADATA:
            continue
        called = part.func if isinstance(part, cst.Call) else None
        if isinstance(called, cst.Name) and f"builtins.{called.value}" in WITHOUT_DATA:
            continue
        if isinstance(part, cst.Name) and part.value in names:
            return True
        pending += children(part)
    return False
