"""What distinguishes a dataset from model weights: words in names and paths, and how a
value is used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from placement_lint.jaxmodel.transfer import METADATA_ATTRIBUTES
from placement_lint.rules.transfers.batches_taken import is_batched
from placement_lint.rules.transfers.compiled_values import is_compiled_elsewhere
from placement_lint.rules.transfers.jitted_calls import jitted
from placement_lint.semantic.called_from import attributes_by_name
from placement_lint.semantic.followed import assigned_parts, assigned_value, followed
from placement_lint.semantic.own_attributes import own_attribute
from placement_lint.syntax.calls import Arguments, integer_value, string_value
from placement_lint.syntax.definitions import (
    assigned_by,
    class_of_receiver,
    field_default,
    is_generator,
    parameter_named,
    texts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from placement_lint.rules.context import Context
    from placement_lint.semantic.model import ModuleFacts
    from placement_lint.syntax.definitions import Function

_DATASET = frozenset(
    """
    audio batches captions cifar corpora corpus data dataset datasets documents episodes eval
    examples frames images imagenet labels maps masks mnist observations patches recordings replay
    rollouts samples scans segmentations sentences sequences signals spectra spectrograms targets
    test texts tiles token tokens train training trajectories transitions utterances val valid
    validation videos volumes waveforms
    """.split()
)
_WEIGHTS = frozenset(
    """
    actor adapter adapters alphas backbone betas bias biases checkpoint checkpoints ckpt ckpts
    clip codebook codebooks coefficients critic decoder discriminator ema embedding embeddings
    encoder flow generator gradients grads kernel kernels layer layers lora lrs lut mlp model
    models moments net nets network networks opt optim optimizer param parameter parameters
    params policy pretrained prototypes resnet schedule sigmas state statedict states stats
    trained transformer unet vae variables vgg vit weight weights
    """.split()
)
_STATISTICS = frozenset({
    "mean", "means", "statistic", "statistics", "std", "stddev", "stds", "variance", "variances",
})  # fmt: skip
"""What is computed of all of a dataset, and small."""
_OF_DATASETS = _STATISTICS | frozenset(
    """
    bound bounds config count counts histogram info length lengths limits max meta metadata min
    name names norm normalizer palette range ranges scale scaler shape shapes size sizes stats
    summary vocab vocabulary
    """.split()
)
"""What is known about a dataset: what a function loads that has one of these words at the end."""
_OF_CLASSES = frozenset({"corpus", "dataloader", "dataset", "datasets", "loader", "replay"})
"""Words in the name of a class of which the objects keep a dataset."""
_TAKING_ITEMS = frozenset({
    "__getitem__", "__iter__", "__next__", "get_batch", "next_batch", "sample_batch",
})  # fmt: skip
_SPLITS = frozenset({"test", "train", "training", "val", "valid", "validation"})
_STEPS = _SPLITS | {"eval"}
"""What functions of a program do, where they have no name of data."""
_MADE = frozenset({"iter", "iterator", "load", "loader", "set", "split", "stream"})
_PLACES = frozenset({"idx", "idxs", "inds", "index", "indexes", "indices", "ix", "perm"})
_APPENDING = frozenset({"append", "extend"})
_COLLECTING = frozenset({"builtins.dict", "builtins.list", "builtins.tuple"})
_VAGUE = frozenset({"data"})
"""What folders and open files are called in which anything may be."""
_MOST_HOPS = 4
"""Names and slices between an index and the permutation that it is of."""
_WEIGHT_CONSUMERS = frozenset({
    "apply", "bind", "from_bytes", "from_state_dict", "load_state_dict", "merge", "replace",
    "restore", "unflatten_dict", "unflatten_mapping", "update_params",
})  # fmt: skip
_FIRST_WORD = re.compile(r"^_*([A-Za-z]?[a-z]*)")
_WORD = re.compile(r"[A-Z]?[a-z]+[0-9]*|[A-Z]+(?![a-z])[0-9]*")


def words(text: str) -> set[str]:
    """Split a name or a path into its words, in lower case."""
    return {word.lower() for word in _WORD.findall(text)} | {
        word.lower().rstrip("0123456789") for word in _WORD.findall(text)
    }


def is_dataset(call: cst.Call, loader_words: set[str], ctx: Context) -> bool:
    """Return whether what a call loads is a dataset, by what the program says of it.

    `loader_words` are those of the file that is read. Where anything mentions weights, it is none.
    """
    function = ctx.function(call)
    targets = list(assigned_names(call, ctx))
    named: set[str] = set()
    for expression in _value_chain(call, ctx):
        if isinstance(expression, cst.Subscript):
            part = expression.slice[0].slice
            if isinstance(part, cst.Index):
                named |= words(string_value(part.value) or "")
        elif isinstance(expression, cst.DictElement):
            named |= words(string_value(expression.key) or "")
    for name in targets:
        named |= words(name)
    for target in _targets(call, ctx):
        named |= _entry_words(target)
    said = loader_words | named
    by_function: set[str] = set()
    if isinstance(function, cst.FunctionDef):
        by_function = words(function.name.value)
        if _last_word(function.name.value) in _OF_DATASETS:
            by_function -= _DATASET
        if function.name.value.startswith("test"):
            by_function -= {"test"}
        if not by_function & _MADE:
            # `train` and `eval_step` use what they load.
            by_function -= words(_FIRST_WORD.findall(function.name.value)[0]) & _STEPS
    keeper = _keeper(call, ctx)
    if keeper is not None:
        by_function |= words(keeper.name.value) & (_OF_CLASSES | _WEIGHTS)
    if (said | by_function) & _WEIGHTS or (named | by_function) & _STATISTICS:
        return False
    uses = [_evidence_of_uses(name, call, ctx) for name in targets]
    if any(each.feeds_model for each in uses):
        return False
    if uses and all(each.is_taken_whole for each in uses):
        return False
    return (
        bool((said | by_function) & _DATASET)
        or any(each.is_indexed_in_loop or each.is_split or each.is_batched for each in uses)
        or _holds_records(call, ctx)
    )


def _last_word(name: str) -> str:
    """Return the last word of a name, which says what it is the name of: `dataset_shape`."""
    found = _WORD.findall(name)
    return found[-1].lower() if found else ""


def _holds_records(call: cst.Call, ctx: Context) -> bool:
    """Return whether a call converts all of a raw file that holds data: one that is mapped into
    memory, as what is large is, or that has as many rows as there are, `.reshape(-1, 6)`.
    """
    source, has_rows = Arguments(call).get(0, "object", "a"), False
    for _ in range(_MOST_HOPS):
        source = None if source is None else followed(source, ctx)
        is_method = isinstance(source, cst.Call) and ctx.called(source) is None
        if not isinstance(source, cst.Call) or not is_method:
            break
        method, given = source.func, Arguments(source).positional
        if not isinstance(method, cst.Attribute):
            break
        has_rows |= method.attr.value == "reshape" and _is_open(given)
        source = method.value
    if not isinstance(source, cst.Call):
        return False
    read = Arguments(source)
    if ctx.called(source) == "numpy.memmap":
        return not read.may_pass(3, "offset")
    is_whole = not (read.may_pass(2, "count") or read.may_pass(4, "offset"))
    return has_rows and is_whole and ctx.called(source) == "numpy.fromfile"


def _is_open(shape: list[cst.BaseExpression]) -> bool:
    """Return whether a shape leaves it to the array how many rows it has."""
    if len(shape) == 1 and isinstance(shape[0], cst.Tuple | cst.List):
        shape = [each.value for each in shape[0].elements]
    return len(shape) > 1 and integer_value(shape[0]) == -1


@dataclass(frozen=True)
class _Uses:
    """What the uses of a variable show."""

    feeds_model: bool
    is_indexed_in_loop: bool
    is_taken_whole: bool
    """Compiled functions take the whole array, as in training with all of it at each step."""
    is_split: bool
    """Rows of it are taken in a random order, or those to train or to test with."""
    is_batched: bool
    """Slices of it are taken one after the other, from one end to the other."""


def _evidence_of_uses(name: str, call: cst.Call, ctx: Context) -> _Uses:
    scope = ctx.names.scope(call)
    known = ctx.module.fact(_known_uses)
    key = (id(_keeper(call, ctx) or ctx.names.owner(name, scope)), name)
    if key not in known:
        known[key] = _Uses(
            _feeds_model(name, call, ctx),
            _is_indexed_in_loop(name, call, ctx),
            _is_taken_whole(name, call, ctx),
            _is_split(name, call, ctx),
            is_batched(_uses(name, call, ctx), ctx),
        )
    return known[key]


def _known_uses(_facts: ModuleFacts) -> dict[tuple[int, str], _Uses]:
    """Make the store of one file, by variable."""
    return {}


def argument_words(node: cst.CSTNode, ctx: Context) -> set[str]:
    """Return the words in an expression: of its strings, and of its variables and attributes."""
    found: set[str] = set()
    for part in (node, *ctx.tree.descendants(node)):
        if isinstance(part, cst.SimpleString):
            text = string_value(part) or ""
            found |= _words_of_key(text) if _is_key(part, ctx) else words(text)
        elif isinstance(part, cst.FormattedStringText) or (
            isinstance(part, cst.Name) and ctx.name(part) is None
        ):
            found |= words(part.value) - (_VAGUE if is_asked_by_name(part, ctx) else set())
            if isinstance(part, cst.Name):
                found |= _default_words(part, ctx)
        elif isinstance(part, cst.Attribute) and ctx.name(part) is None:
            found |= words(part.attr.value)
            given = own_attribute(part, ctx)
            if isinstance(given, cst.Name):
                found |= _default_words(given, ctx)
            found |= _field_words(part, ctx)
    return found


def source_words(source: cst.BaseExpression, load: cst.Call, ctx: Context) -> set[str]:
    """Return the words of what a call loads: of the expression, and of what a name is that is all
    of it, the array or its path.

    Also of what a loop or a comprehension takes that name from, if all that it loads is collected:
    `[jnp.load(path) for path in (root / "train").glob("*.npy")]`.
    """
    found = argument_words(source, ctx)
    whole: cst.BaseExpression | None = source
    for _ in range(_MOST_HOPS):
        if isinstance(whole, cst.Call):
            # What reads or sorts is given what it is of first.
            whole = Arguments(whole).get(0)
        if not isinstance(whole, cst.Name):
            break
        loop = _loop_of(whole, load, ctx)
        if loop is not None:
            whole = loop.iter if _collects_all(load, loop, ctx) else None
        else:
            whole = assigned_value(whole, ctx)
        if whole is not None:
            found |= argument_words(whole, ctx) - _VAGUE
    return found


def _loop_of(name: cst.Name, load: cst.Call, ctx: Context) -> cst.For | cst.CompFor | None:
    """Return the loop around a load, or in a comprehension there, that draws what a name is."""
    for around in ctx.ancestors(load):
        if isinstance(around, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            return None
        drawing: list[cst.For | cst.CompFor] = [around] if isinstance(around, cst.For) else []
        if isinstance(around, cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp):
            drawing = [*ctx.tree.every(cst.CompFor, below=around)]
        for each in drawing:
            if isinstance(each.target, cst.Name) and each.target.value == name.value:
                return each
    return None


def _collects_all(load: cst.Call, loop: cst.For | cst.CompFor, ctx: Context) -> bool:
    """Return whether all that is loaded in a loop is collected: in a list or a dict.

    Not if that is done again and again: those are batches.
    """
    for around in _value_chain(load, ctx):
        if isinstance(around, cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp):
            taking = ctx.parent(ctx.parent(around) or around)
            is_drawn = ctx.called(taking) in _COLLECTING or not isinstance(around, cst.GeneratorExp)
            is_own = any(each is loop for each in ctx.tree.every(cst.CompFor, below=around))
            return is_drawn and is_own and not _is_in_loop(around, ctx)
        if isinstance(around, cst.Attribute):
            # Only a part of it, or its shape.
            return False
        if isinstance(around, cst.Call):
            method = around.func.attr.value if isinstance(around.func, cst.Attribute) else ""
            if method not in _APPENDING or not isinstance(ctx.parent(around), cst.Expr):
                return False
    is_kept = isinstance(ctx.statement(load), cst.Expr) or any(
        isinstance(target, cst.Subscript) for target in _targets(load, ctx)
    )
    return is_kept and isinstance(loop, cst.For) and not _is_in_loop(loop, ctx)


def _field_words(node: cst.Attribute, ctx: Context) -> set[str]:
    """Return the words in the default of a field of a dataclass: `split: str = "train"`."""
    if not isinstance(node.value, cst.Name) or node.value.value != "self":
        return set()
    owner = ctx.tree.around(node, cst.ClassDef)
    default = None if owner is None else field_default(owner, node.attr.value)
    return words(string_value(default) or "")


def _default_words(name: cst.Name, ctx: Context) -> set[str]:
    """Return the words in the default of a parameter, or in what a loop goes through.

    `split="train"`, and `for name in ("images", "labels")`.
    """
    parameter = parameter_named(name, ctx.names)
    if parameter is not None:
        return words(string_value(parameter.default) or "")
    split = _words_of_key if _is_key(name, ctx) else words
    return set[str]().union(*map(split, texts_of(name, ctx.names)))


def is_asked_by_name(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether an expression holds arrays by their names, which say what these are."""
    around = ctx.parent(node)
    if not isinstance(around, cst.Subscript) or around.value is not node:
        return False
    part = around.slice[0].slice
    return isinstance(part, cst.Index) and (
        isinstance(part.value, cst.FormattedString) or string_value(part.value) is not None
    )


def _is_key(node: cst.CSTNode, ctx: Context) -> bool:
    return isinstance(ctx.parent(node), cst.Index)


def _words_of_key(text: str) -> set[str]:
    """Return the words of the key of an array in a file.

    One array cannot be the state of a training, so `train_states` are those that it learns from.
    """
    said = words(text)
    return said - {"states"} if said & _SPLITS else said


def _entry_words(target: cst.BaseExpression) -> set[str]:
    """Return the words of a dict in which something is kept, and of its key: `data["train"]`."""
    if not isinstance(target, cst.Subscript):
        return set()
    kept = target.value.attr if isinstance(target.value, cst.Attribute) else target.value
    if not isinstance(kept, cst.Name):
        return set()
    part = target.slice[0].slice
    key = string_value(part.value) if isinstance(part, cst.Index) else None
    return words(kept.value) | words(key or "")


def assigned_names(call: cst.CSTNode, ctx: Context) -> Iterator[str]:
    """Yield the names that the value of a call, or an item of it, is bound to by its statement.

    Of several names at once, that is the one that has its place, where that is written out.
    """
    targets = _targets(call, ctx)
    for ancestor in _value_chain(call, ctx):
        if isinstance(ancestor, cst.NamedExpr):
            targets.append(ancestor.target)
    for target in targets:
        if isinstance(target, cst.Name):
            yield target.value
        elif isinstance(target, cst.Attribute):
            yield target.attr.value


def _value_chain(call: cst.CSTNode, ctx: Context) -> Iterator[cst.CSTNode]:
    """Yield the expressions around a call up to its statement."""
    for ancestor in ctx.ancestors(call):
        if isinstance(ancestor, cst.BaseSmallStatement | cst.BaseSuite):
            return
        yield ancestor


def _targets(call: cst.CSTNode, ctx: Context) -> list[cst.BaseExpression]:
    """Return what the statement of a call assigns to."""
    statement = ctx.statement(call)
    if isinstance(statement, cst.Assign):
        return [
            part
            for each in statement.targets
            for target, value in assigned_parts(each.target, statement.value)
            if ctx.tree.is_inside(call, value)
            for part in _parts(target)
        ]
    return [statement.target] if isinstance(statement, cst.AnnAssign) else []


def _parts(target: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the parts of a target of which it is not written out what each is given."""
    if isinstance(target, cst.Tuple | cst.List):
        return [part.value for part in target.elements]
    return [target]


def _keeper(call: cst.CSTNode, ctx: Context) -> cst.ClassDef | None:
    """Return the class whose object keeps the value of a call in an attribute of its own."""
    owners = (
        class_of_receiver(target.value, ctx.names)
        for target in _targets(call, ctx)
        if isinstance(target, cst.Attribute)
    )
    return next((owner for owner in owners if owner is not None), None)


def _uses(name: str, call: cst.Call, ctx: Context) -> Iterator[cst.CSTNode]:
    """Yield the reads of a name that is bound in the scope of a call.

    Or of the attribute of that name, where an object keeps the value of the call in it.
    """
    keeper = _keeper(call, ctx)
    if keeper is not None:
        for use in ctx.tree.every(cst.Attribute, below=keeper):
            if use.attr.value == name and class_of_receiver(use.value, ctx.names) is keeper:
                yield use
        return
    scope = ctx.names.scope(call)
    if ctx.names.owner(name, scope) is not None:
        yield from ctx.names.uses(name, scope)


def _feeds_model(name: str, call: cst.Call, ctx: Context) -> bool:
    for use in _uses(name, call, ctx):
        argument = ctx.parent(use)
        consumer = ctx.parent(argument) if isinstance(argument, cst.Arg) else None
        if not isinstance(consumer, cst.Call) or not isinstance(argument, cst.Arg):
            continue
        if argument.keyword is not None and words(argument.keyword.value) & _WEIGHTS:
            return True
        named = consumer.func.attr if isinstance(consumer.func, cst.Attribute) else consumer.func
        called = ctx.called(consumer) or (named.value if isinstance(named, cst.Name) else "")
        if called.rpartition(".")[2] in _WEIGHT_CONSUMERS:
            return True
    return False


def _is_indexed_in_loop(name: str, call: cst.Call, ctx: Context) -> bool:
    for use in _uses(name, call, ctx):
        parent = ctx.parent(use)
        if isinstance(use, cst.Attribute) and not _gives_items(use, ctx):
            # The tables of a model are indexed in loops as well.
            continue
        if isinstance(parent, cst.For) and use is parent.iter:
            return True
        if not isinstance(parent, cst.Subscript) or use is not parent.value:
            continue
        part = parent.slice[0].slice
        if isinstance(part, cst.Index) and string_value(part.value) is not None:
            continue
        if isinstance(use, cst.Attribute) or _is_in_loop(parent, ctx):
            return True
    return False


def _is_split(name: str, call: cst.Call, ctx: Context) -> bool:
    """Return whether rows are taken of an array in a random order, or those to train with.

    And not only for compiled functions that take all of these at once.
    """
    for use in _uses(name, call, ctx):
        taken = ctx.parent(use)
        if not isinstance(taken, cst.Subscript) or taken.value is not use:
            continue
        part = taken.slice[0].slice
        if not isinstance(part, cst.Index) or not _says_which_rows(part.value, ctx):
            continue
        parts = [*assigned_names(taken, ctx)]
        if not parts or not all(_is_taken_whole(each, taken, ctx) for each in parts):
            return True
    return False


def _says_which_rows(index: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether an index is `train_idx`, or part of a random permutation."""
    for _ in range(_MOST_HOPS):
        while isinstance(index, cst.Subscript):
            index = index.value
        last = index.func if isinstance(index, cst.Call) else index
        named = last.attr if isinstance(last, cst.Attribute) else last
        if not isinstance(named, cst.Name):
            return False
        if isinstance(index, cst.Call):
            return named.value == "permutation"
        said = words(named.value)
        if said & _SPLITS and said & _PLACES:
            return True
        value = assigned_value(index, ctx)
        if value is None:
            return False
        index = value
    return False


def _is_taken_whole(name: str, call: cst.BaseExpression, ctx: Context) -> bool:
    """Return whether all that is done with an array is to give it to compiled functions, or to
    look at its shape. It has to be on their device then.
    """
    keeper = _keeper(call, ctx)
    if keeper is None:
        scope = ctx.names.scope(call)
        is_bound = ctx.names.owner(name, scope) is not None
        uses: list[cst.Name | cst.Attribute] = [*ctx.names.uses(name, scope)] if is_bound else []
    else:
        # Others may take items of the object's attribute.
        uses = [*ctx.module.fact(attributes_by_name).get(name, ())]
    taken = 0
    for use in uses:
        parent = ctx.parent(use)
        by = assigned_by(use, ctx.tree)
        is_set = by is not None and not isinstance(by, cst.AugAssign)
        if is_set or _tells_shape(use, ctx):
            continue
        if isinstance(parent, cst.Subscript) and parent.value is use:
            # One array of several, by its name.
            part = parent.slice[0].slice
            if not isinstance(part, cst.Index) or string_value(part.value) is None:
                return False
            parent = ctx.parent(parent)
        if not isinstance(parent, cst.Arg) or not _is_taken(parent, ctx):
            return False
        taken += 1
    return taken > 0


def _tells_shape(use: cst.CSTNode, ctx: Context) -> bool:
    parent = ctx.parent(use)
    if isinstance(parent, cst.Attribute):
        return parent.value is use and parent.attr.value in METADATA_ATTRIBUTES
    around = None if parent is None else ctx.parent(parent)
    return isinstance(parent, cst.Arg) and ctx.called(around) == "builtins.len"


def _is_taken(argument: cst.Arg, ctx: Context) -> bool:
    """Return whether a compiled function takes an argument, and takes no items of it."""
    call = ctx.parent(argument)
    if not isinstance(call, cst.Call) or argument.star:
        return False
    compiled = jitted(call.func, ctx)
    if compiled is None:
        return is_compiled_elsewhere(call.func, ctx)
    if any(each.star for each in call.args):
        return False
    of = (name for name, value in compiled.by_parameter(call) if value is argument.value)
    parameter = next(of, None)
    function = compiled.function
    return function is None or parameter not in _names_of_parts(function, ctx)


def _names_of_parts(function: Function, ctx: Context) -> set[str]:
    """Return the names of which a function takes items or slices."""
    known = ctx.module.fact(_known_parts)
    if id(function) not in known:
        known[id(function)] = {
            each.value.value
            for each in ctx.tree.every(cst.Subscript, below=function.body)
            if isinstance(each.value, cst.Name)
        }
    return known[id(function)]


def _known_parts(_facts: ModuleFacts) -> dict[int, set[str]]:
    """Make the store of one file: the names of which a function takes parts."""
    return {}


def _gives_items(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a node is in a method that gives one item after the other."""
    method = ctx.function(node)
    return isinstance(method, cst.FunctionDef) and (
        method.name.value in _TAKING_ITEMS or is_generator(method, ctx.names)
    )


def gives_one_of_many(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether what an expression makes is made again for each of many items."""
    return _gives_items(node, ctx) or _is_in_loop(node, ctx)


def is_yielded_in_loop(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a generator gives what an expression makes, and the next one after it."""
    is_yielded = any(isinstance(each, cst.Yield) for each in _value_chain(node, ctx))
    return is_yielded and _is_in_loop(node, ctx)


def _is_in_loop(node: cst.CSTNode, ctx: Context) -> bool:
    """Return whether a loop or a comprehension of the same function is around a node."""
    child = node
    for ancestor in ctx.ancestors(node):
        if isinstance(ancestor, cst.For | cst.While) and child is ancestor.body:
            return True
        if isinstance(ancestor, cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp):
            return True
        if isinstance(ancestor, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            return False
        child = ancestor
    return False
