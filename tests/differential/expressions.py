"""What a random program is written with: choices, names, and expressions of known kinds."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Choose: TypeAlias = Callable[[int, int], int]

MATRIX, VECTOR, SCALAR = "matrix", "vector", "scalar"
NUMPY, MATRICES, VECTORS, DICT, PAIR = "numpy", "matrices", "vectors", "dict", "pair"
DEVICE, CONTEXT, ITERATOR = "device", "context", "iterator"
ARRAYS = (MATRIX, VECTOR, SCALAR)
KINDS = (MATRIX, MATRIX, MATRIX, VECTOR, VECTOR, SCALAR, NUMPY, MATRICES, VECTORS, DICT, PAIR)

LETTERS = {
    MATRIX: "m", VECTOR: "v", SCALAR: "s", NUMPY: "n", MATRICES: "ms", VECTORS: "vs", DICT: "d",
    PAIR: "p", DEVICE: "dev", CONTEXT: "ctx", ITERATOR: "it",
}  # fmt: skip

SLOTS = {
    "m": MATRIX, "v": VECTOR, "s": SCALAR, "n": NUMPY, "ms": MATRICES, "vs": VECTORS, "d": DICT,
    "p": PAIR,
}  # fmt: skip
_DEVICES = ('jax.devices("cpu")[0]', "jax.devices()[0]", 'jax.local_devices(backend="cpu")[0]')
_SLOT = re.compile(r"\$(\w+)")
_EITHER = re.compile(r"<<(.*?)>>")

LEAVES: dict[str, tuple[str, ...]] = {
    MATRIX: (
        "jnp.ones((4, 4))",
        "jnp.zeros((4, 4))",
        "jnp.eye(4)",
        "jnp.full((4, 4), 2.0)",
        "jnp.arange(16.0).reshape(4, 4)",
        "jnp.asarray(np.ones((4, 4), np.float32))",
        "jnp.array(np.ones((4, 4), np.float32))",
        "jax.random.normal(jax.random.key(0), (4, 4))",
        'load_file("tokens.safetensors")["tokens"]',
        'jnp.load("tokens.npy")',
        "jax.device_put(np.ones((4, 4), np.float32))",
        "jnp.array([[1.0, 2.0, 3.0, 4.0]] * 4)",
    ),
    VECTOR: (
        "jnp.ones(4)",
        "jnp.arange(4.0)",
        "jnp.linspace(0.0, 1.0, 4)",
        "jnp.array([1.0, 2.0, 3.0, 4.0])",
        "jnp.asarray(np.ones(4, np.float32))",
        "jax.random.uniform(jax.random.PRNGKey(1), (4,))",
    ),
    SCALAR: ("jnp.asarray(1.0)", "jnp.float32(2.0)"),
    NUMPY: (
        "np.ones((4, 4), np.float32)",
        'np.load("tokens.npy")',
        "np.arange(16, dtype=np.float32).reshape(4, 4)",
    ),
    MATRICES: ("[jnp.ones((4, 4)), jnp.eye(4)]",),
    VECTORS: ("[jnp.ones(4)]",),
    DICT: ('{"a": jnp.ones((4, 4)), "b": jnp.zeros((4, 4))}',),
    PAIR: ("(jnp.ones((4, 4)), jnp.ones(4))",),
    ITERATOR: ("iter([jnp.ones(4)])",),
}

# `$m`, `$v` … stand for other expressions, `$m_` for one in which `:=` may not stand,
# `$dev` for a device, `<<a|b>>` for a or b.
PRODUCTIONS: dict[str, tuple[str, ...]] = {
    MATRIX: (
        "($m <<+|*|-|@>> $m)",
        "($m <<+|*>> <<2.0|$s|$v>>)",
        "jnp.<<sin|exp|abs|sort|array|asarray|copy>>($m)",
        "$m.T",
        "$m[<<:|...|::-1|()>>]",
        "$m[<<jnp.array([0, 1, 2, 3])|np.array([3, 2, 1, 0])>>]",
        "jnp.where($m > 0, $m, $m)",
        "$m.at[0].set(<<1.0|$v>>)",
        "jnp.concatenate([$m[:2], $m[2:]])",
        "jnp.stack([$v, $v, $v, $v])",
        "jnp.<<zeros_like|ones_like>>($m)",
        "$m.reshape(4, 4)",
        "$m.<<astype(jnp.float32)|copy()|block_until_ready()>>",
        "jax.<<block_until_ready|lax.stop_gradient|nn.relu|device_put>>($m)",
        "jax.device_put(<<$m|$n>>, $dev)",
        "$m.to_device($dev)",
        "np.transpose($m)",
        "jnp.<<asarray|array>>($n)",
        "$p[0]",
        '$d["<<a|b>>"]',
        "$ms[0]",
        "($m if inputs.flag() else $m)",
        "jnp.outer($v, $v)",
        "(-$m)",
        'jax.tree.map(lambda q: q <<* 2|+ 1>>, $d)["a"]',
        "($named$m)",
        "jax.vmap(lambda q: q * 2)($m)",
        "jnp.asarray(np.asarray($m))",
        "jnp.zeros((4, 4), device=$dev)",
        "sum($ms, $m)",
    ),
    VECTOR: (
        "$m[<<0|-1|inputs.count()>>]",
        "$m[:, <<0|1>>]",
        "($v <<+|*>> $v)",
        "($m @ $v)",
        "$m.<<sum(0)|mean(axis=1)|max(axis=0)>>",
        "jnp.<<sum|mean|max>>($m, axis=0)",
        "np.sum($m, axis=0)",
        "next(iter($m))",
        "list($m)[1]",
        "jnp.take($m, 0, axis=0)",
        "jax.lax.dynamic_slice($v, (0,), (4,))",
        "$p[1]",
        "$vs[0]",
        "sum(q for q in $m_)",
        "jax.device_put($v, $dev)",
        "($v if inputs.flag() else $v)",
        "jnp.stack([$s, $s, $s, $s])",
        "($named$v)",
        "jax.nn.softmax($v)",
    ),
    SCALAR: (
        "$v[0]",
        "$m[0, 1]",
        "$m.sum()",
        "jnp.mean($v)",
        "($s + $s)",
        "np.mean($m)",
        "max($v)",
    ),
    NUMPY: (
        "np.asarray($m)",
        "jax.device_get($m)",
        "np.add($m, 1)",
        "np.array($m)",
    ),
    MATRICES: (
        "[$m, $m]",
        "[q <<* 2|+ 1|@ q>> for q in $ms_]",
        "[*$ms, $m]",
        "list($d.values())",
        "[$m for _ in range(2)]",
        "($ms + $ms)",
        "jax.device_put($ms, $dev)",
        "list(map(lambda q: q + 1, $ms))",
    ),
    VECTORS: (
        "[q for q in $m_]",
        "list($m)",
        "[q[0] for q in $ms_]",
        "[q * 2 for q in $m_ if inputs.flag() or True]",
        "[$v, $v]",
    ),
    DICT: (
        '{"a": $m, "b": $m}',
        "dict(a=$m, b=$m)",
        "{k: q * 2 for k, q in $d_.items()}",
        '{**$d, "b": $m}',
        "jax.device_put($d, $dev)",
        "jax.tree.map(lambda q: jax.device_put(q, $dev), $d)",
        "jax.tree.map(lambda q: q + 1, $d)",
    ),
    PAIR: ("($m, $v)",),
    ITERATOR: (
        "iter($m_)",
        "(q * 2 for q in $m_)",
        "(q for q in $m_ if inputs.flag() or True)",
        "map(lambda q: q + 1, $m)",
        "iter($vs)",
    ),
}


@dataclass
class Signature:
    """A function that can be called: by which text, with which kinds, giving which."""

    name: str
    parameters: tuple[str, ...]
    result: str
    names: tuple[str, ...] = ()
    """The names of its parameters, where it may be called by keyword."""
    defaults: int = 0
    """How many parameters, from the last, have defaults."""


@dataclass
class Class:
    """A class that can be instantiated: its constructor's kinds, and what its instances have."""

    name: str
    parameters: tuple[str, ...]
    attributes: dict[str, str] = field(default_factory=dict)
    methods: list[Signature] = field(default_factory=list)
    properties: frozenset[str] = frozenset()
    """Those of its attributes that cannot be set."""
    rows: bool = False
    """Whether it has `__getitem__`, `__len__` and `__iter__`, which give vectors."""


@dataclass
class Scope:
    """What is bound at one point of a program."""

    variables: dict[str, str] = field(default_factory=dict)
    functions: list[Signature] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    instances: dict[str, Class] = field(default_factory=dict)
    frozen: frozenset[str] = frozenset()
    """Names of an outer scope: a function may read them, but not bind them."""

    def copy(self) -> Scope:
        """Give a scope for a body."""
        return Scope(
            dict(self.variables),
            list(self.functions),
            list(self.classes),
            dict(self.instances),
            self.frozen,
        )


class Expressions:
    """Writes one module; knows expressions."""

    makers: ClassVar[Mapping[str, tuple[str, ...]]] = LEAVES
    """By kind: templates that hold no other expressions."""
    productions: ClassVar[Mapping[str, tuple[str, ...]]] = PRODUCTIONS
    slots: ClassVar[Mapping[str, str]] = SLOTS

    def __init__(self, choose: Choose, level: int) -> None:
        """Write what `choose` chooses, with the constructs up to a level."""
        self._choose_number = choose
        self.level = level
        self.lines: list[str] = []
        self.indent = 0
        self.scope = Scope()
        self.numbers: dict[str, int] = {}
        self.in_loop = 0
        self.calling = 0
        self.in_iterable = 0
        self.in_function: str | None = None
        self.in_generator = False
        self.budget = 18 + 5 * level
        self.module_names: set[str] = set()
        """Names bound in the module's own body."""

    # -- choices -----------------------------------------------------------------------------

    def number(self, low: int, high: int) -> int:
        """Choose a number."""
        return self._choose_number(low, high)

    def chance(self, percent: int) -> bool:
        """Choose yes, in so many of a hundred; no is the simpler one."""
        return self.number(0, 99) >= 100 - percent

    def pick(self, choices: Sequence[Any]) -> Any:
        """Choose one; the first is the simplest."""
        return choices[self.number(0, len(choices) - 1)]

    def choose(self, choices: Sequence[str]) -> str:
        """Choose a text."""
        return choices[self.number(0, len(choices) - 1)]

    # -- lines and names -----------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * self.indent + text)
        self.budget -= 1

    def new(self, kind: str) -> str:
        """Give a name that was not used yet."""
        letters = LETTERS.get(kind, kind)
        self.numbers[letters] = self.numbers.get(letters, -1) + 1
        return f"{letters}{self.numbers[letters]}"

    def target(self, kind: str) -> str:
        """Give a name to bind: mostly a new one, else one of the same kind."""
        own = [name for name in self.bindable(kind) if "." not in name]
        return str(self.pick(own)) if own and self.chance(45) else self.new(kind)

    def bind(self, name: str, kind: str) -> None:
        """Note that a name is bound."""
        self.scope.variables[name] = kind
        if self.indent == 0:
            self.module_names.add(name)

    def names(self, kind: str) -> list[str]:
        """Give the names of a kind."""
        return [name for name, other in self.scope.variables.items() if other == kind]

    def bindable(self, kind: str) -> list[str]:
        """Give the names of a kind that may be bound again here."""
        return [name for name in self.names(kind) if name not in self.scope.frozen]

    @contextlib.contextmanager
    def body(self) -> Iterator[None]:
        """Write an indented body, whose new names are not bound after it."""
        outside = self.scope
        self.scope = outside.copy()
        self.indent += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1
        self.scope = outside

    # -- expressions -----------------------------------------------------------------------------

    def device(self) -> str:
        """Name a device."""
        return self.choose([*self.names(DEVICE), *_DEVICES])

    def target_of_put(self) -> str:
        """Name what an array may be put on: a device."""
        return self.device()

    def default_device(self) -> str:
        """Name a device for a default device: mostly the host."""
        hosts = [name for name in self.names(DEVICE) if name.startswith("cpu")]
        return self.choose([*hosts, *hosts, *hosts, _DEVICES[0], '"cpu"', self.device()])

    def expression(self, kind: str, depth: int = 2) -> str:
        """Write an expression of a kind."""
        known = self.names(kind)
        if known and self.chance(65 if depth else 92):
            return self.choose(known)
        if depth and self.chance(70):
            return self.fill(self.choose(self.productions[kind]), depth - 1)
        return self.choose(self.leaves(kind))

    def array(self, depth: int = 1) -> tuple[str, str]:
        """Write an expression of one of the kinds of arrays."""
        kind = str(self.pick([MATRIX, MATRIX, VECTOR, SCALAR]))
        return self.expression(kind, depth), kind

    def leaves(self, kind: str) -> Sequence[str]:
        """Give templates of a kind that hold no other expressions."""
        makers = [each for each in self.scope.functions if each.result == kind]
        if makers and self.calling < 2 and self.chance(50):
            chosen = self.pick(makers)
            self.calling += 1
            text = f"{chosen.name}({self.arguments(chosen, 0)})"
            self.calling -= 1
            return [text]
        return self.makers[kind]

    def fill(self, template: str, depth: int) -> str:
        """Write a template: `$m` is a matrix, and so on; `<<a|b>>` is one or the other."""

        def chosen(match: re.Match[str]) -> str:
            return str(self.pick(match.group(1).split("|")))

        def written(match: re.Match[str]) -> str:
            slot = match.group(1)
            if slot == "dev":
                return self.target_of_put()
            if slot == "named":
                return "" if self.in_iterable else f"{self.new('w')} := "
            self.in_iterable += slot.endswith("_")
            text = self.expression(self.slots[slot.rstrip("_")], depth)
            self.in_iterable -= slot.endswith("_")
            return text

        return _SLOT.sub(written, _EITHER.sub(chosen, template))

    def arguments(self, signature: Signature, depth: int) -> str:
        """Write the arguments of a call: in order, by keyword, or unpacked."""
        kinds = list(signature.parameters)
        if signature.defaults and self.chance(40):
            kinds = kinds[: len(kinds) - signature.defaults]
        texts = [self.expression(kind, depth) for kind in kinds]
        if signature.names and texts and self.chance(30):
            first = self.number(0, len(texts) - 1)
            texts[first:] = [
                f"{name}={text}"
                for name, text in zip(signature.names[first:], texts[first:], strict=False)
            ]
        elif texts and self.chance(8):
            texts = [f"*[{', '.join(texts)}]"]
        return ", ".join(texts)
