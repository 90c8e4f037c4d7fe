"""Trees of random programs: what traced functions give, objects that are trees, and loops that
replace either; and functions that a text or a member tells what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.expressions import (
    DICT,
    MATRIX,
    NUMPY,
    PAIR,
    SCALAR,
    VECTOR,
    Class,
    Signature,
)
from tests.differential.objects import Objects

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.expressions import Choose

_BODIES: dict[str, tuple[str, ...]] = {
    MATRIX: ("q + 1", "q @ q", "q", "jnp.sin(q) * 2"),
    PAIR: ("(q[0] * 2, q[1])", "(q[0], q[1] + 1)", "(q[0] + q[1], q[0].sum(0))", "q"),
    DICT: (
        '{"a": q["a"] + 1, "b": q["b"]}', '{**q, "b": q["a"] * 2}', '{"a": q["b"], "b": q["a"]}',
        "{k: w * 2 for k, w in q.items()}", "jax.tree.map(lambda w: w + 1, q)",
    ),
}  # fmt: skip
"""What a function of one argument `q` gives, that is of the same kind."""


class Trees(Objects):
    """Writes one module; knows every construct."""

    def __init__(self, choose: Choose, level: int) -> None:
        """Write what `choose` chooses, with the constructs up to a level."""
        super().__init__(choose, level)
        self.tree_classes: list[Class] = []

    prefixes: tuple[str, ...] = ()
    """What further names begin with."""

    def prologue(self) -> None:
        """Write what a module begins with, behind its imports."""

    def forms(self) -> list[Callable[[], None]]:
        """Give the statements that may stand here."""
        found = super().forms()
        found += [self.taken_apart] * 2
        if self.level >= 2:
            found += [self.replaced_in_a_loop] * 2
        if self.level >= 3:
            found += [self.traced] * 3
            if self.in_function is None and self.indent == 0:
                found += [self.told, self.told, self.helped]
        if self.level >= 4 and self.in_function is None and self.indent == 0:
            found += [self.tree_class] * 3 + [self.tree_made, self.tree_made]
        return found

    # -- what traced functions give -------------------------------------------------------------

    def taken_apart(self) -> None:
        """Write `a, b = …` of what a traced function gives, or a part of it."""
        form = self.number(0, 7)
        if form == 0:
            names = {self.new(SCALAR): SCALAR, self.new(MATRIX): MATRIX}
            text = self.choose([
                "jax.value_and_grad(lambda q: (q * <<q|2.0>>).sum())($m)",
                "jax.jit(jax.value_and_grad(lambda q, w: (q * w).sum()))($m, $m)",
            ])  # fmt: skip
        elif form == 1:
            names = {self.new(VECTOR): VECTOR, self.new(MATRIX): MATRIX}
            text = "jax.lax.scan(lambda c, q: (<<c + q|c>>, <<c * q|q|c>>), $v, $m)"
        elif form == 2:
            names = {self.new(MATRIX): MATRIX, self.new(MATRIX): MATRIX}
            text = "jax.grad(lambda p, q: (p * q<< + p||>>).sum(), argnums=(0, 1))($m, $m)"
        elif form == 3:
            names = {self.new(MATRIX): MATRIX, self.new(MATRIX): MATRIX}
            text = "jax.lax.map(lambda q: (<<q * 2|q>>, q + 1), $m)"
        elif form == 4:
            names = {self.new(MATRIX): MATRIX, self.new(VECTOR): VECTOR}
            text = "jax.vmap(lambda q: (<<q * 2|q>>, q.sum()))($m)"
        elif form == 5:
            names = {self.new(MATRIX): MATRIX, self.new(MATRIX): MATRIX}
            # Not compiled, it would compute with arrays that nobody but the function sees.
            body = "jax.jit(lambda p, q: (p[0] + q[0], p[1] * q[1]))"
            text = f"jax.lax.associative_scan({body}, ($m, $m))"
        elif form == 6:
            names = {self.new(MATRIX): MATRIX, self.new(MATRIX): MATRIX}
            text = "jnp.linalg.qr($m)"
        else:
            names = {self.new(MATRIX): MATRIX, self.new(MATRIX): MATRIX}
            text = "jnp.broadcast_arrays($m, <<$m|$v>>)"
        text = self.fill(text, 0)
        if self.chance(40):
            name = self.new("got")
            self.line(f"{name} = {text}")
            text = name
            if self.chance(50):
                (first, kind), *_ = names.items()
                self.line(f"{first} = {name}[0]")
                self.bind(first, kind)
                return
        self.line(f"{', '.join(names)} = {text}")
        for name, kind in names.items():
            self.bind(name, kind)

    def _tree_of(self, kind: str, name: str, body: str) -> str:
        """Write a call, of one argument, of a function that JAX traces."""
        forms = [
            "jax.jit(lambda q: {body})({name})",
            "jax.checkpoint(lambda q: {body})({name})",
            "jax.lax.fori_loop(0, 2, lambda i, q: {body}, {name})",
            "jax.lax.cond(inputs.flag(), lambda q: {body}, lambda q: {body}, {name})",
            "jax.lax.cond(inputs.flag(), lambda q: {body}, lambda q: q, {name})",
            "jax.lax.switch(1, [lambda q: q, lambda q: {body}], {name})",
            "jax.lax.while_loop(lambda q: False, lambda q: {body}, {name})",
        ]
        if kind != PAIR or body != "(q[0] + q[1], q[0].sum(0))":
            forms.append("jax.jit(jax.vmap(lambda q: {body}))({name})")
        if "@" in body or "[0] + q[1]" in body:
            forms = [form for form in forms if "vmap" not in form]
        return str(self.pick(forms)).format(body=body, name=name)

    def traced(self) -> None:
        """Write a call of a traced function that gives a tree like the one that it is given."""
        kind = str(self.pick([PAIR, DICT, DICT]))
        body = self.choose(_BODIES[kind])
        form = self.number(0, 3)
        argument, name = self.expression(kind, 1), self.target(kind)
        if form < 2:
            self.line(f"{name} = {self._tree_of(kind, argument, body)}")
        elif form == 2:
            step = self.new("step")
            self.line(self.choose(["@jax.jit", "@functools.partial(jax.jit, donate_argnums=())",
                                   "@jax.checkpoint", "@jax.custom_vjp"]))  # fmt: skip
            self.line(f"def {step}(q):")
            self.line(f"    return {body}")
            self.line(f"{name} = {step}({argument})")
        else:
            step = self.new("f")
            self.line(f"def {step}(q):")
            self.line(f"    made = {body}")
            self.line("    return made")
            call = self.choose(["jax.jit({})", "jax.checkpoint({})", "jax.jit(jax.checkpoint({}))"])
            self.line(f"{name} = {call.format(step)}({argument})")
        self.bind(name, kind)

    def replaced_in_a_loop(self) -> None:
        """Write a loop that replaces a tree by what is computed of it."""
        kind = str(self.pick([PAIR, DICT, DICT, MATRIX]))
        known = [name for name in self.bindable(kind) if "." not in name]
        if self.indent > 3:
            return self.assign()
        if known and self.chance(60):
            name = str(self.pick(known))
        else:
            name = self.new(kind)
            self.line(f"{name} = {self.expression(kind, 1)}")
            self.bind(name, kind)
        body = self.choose(_BODIES[kind])
        part = {PAIR: f"{name}[0]", DICT: f'{name}["a"]', MATRIX: name}[kind]
        self.line("for _ in range(inputs.count()):")
        with self.loop():
            if self.chance(25):
                self.line(f"{part}[0]")
            if self.chance(70):
                self.line(f"{name} = {self._tree_of(kind, name, body)}")
            else:
                self.line(f"{name} = (lambda q: {body})({name})")
            if self.chance(15):
                self.line(f"{part} + 1")
        if self.chance(60):
            self.line(f"{part}{self.choose(['[0]', ' + 1', '.sum()'])}")
        return None

    # -- objects that are trees -----------------------------------------------------------------

    def tree_class(self) -> None:
        """Write a class whose objects are trees, and make one."""
        made = Class(self.new("State"), (MATRIX, VECTOR), {"x": MATRIX, "y": VECTOR})
        form = self.number(0, 2)
        if form == 0:
            self.line("@jax.tree_util.register_dataclass")
            self.line(self.choose(["@dataclasses.dataclass",
                                   "@dataclasses.dataclass(frozen=True)"]))  # fmt: skip
            self.line(f"class {made.name}:")
        elif form == 1:
            self.line("import typing")
            self.line(f"class {made.name}(typing.NamedTuple):")
        else:
            self.line("@jax.tree_util.register_pytree_node_class")
            self.line("@dataclasses.dataclass")
            self.line(f"class {made.name}:")
        self.indent += 1
        self.line("x: jax.Array")
        self.line("y: jax.Array")
        if form == 2:
            self.line("def tree_flatten(self):")
            self.line("    return (self.x, self.y), None")
            self.line("@classmethod")
            self.line("def tree_unflatten(cls, _, leaves):")
            self.line("    return cls(*leaves)")
        name, result = self.new("method"), str(self.pick([MATRIX, VECTOR]))
        self.line(f"def {name}(self, a):")
        with self.function_body(result, {"a": MATRIX, "self.x": MATRIX, "self.y": VECTOR}):
            self.scope.frozen |= {"self.x", "self.y"}
            self.line(f"self.x[{self.choose(['0', 'inputs.count()'])}]")
            self.line(f"return {self.expression(result, 1)}")
        made.methods.append(Signature(name, (MATRIX,), result, ("a",)))
        self.indent -= 1
        made.properties = frozenset(made.attributes)
        self.tree_classes.append(made)
        kept = self.new("o")
        self.line(f"{kept} = {made.name}({self.fill('$m, $v', 1)})")
        self._keep(made, kept)

    def tree_made(self) -> None:
        """Make an object like another one, or replace it in a loop; then use it."""
        known = [name for name, made in self.scope.instances.items() if made in self.tree_classes]
        if not known:
            return self.tree_class() if self.indent == 0 else self.assign()
        old = str(self.pick(known))
        made = self.scope.instances[old]
        step = self.choose([
            f"{made.name}(q.x + 1, q.y)", f"{made.name}(q.x, q.y * 2)", "q",
            "jax.tree.map(lambda w: w * 2, q)",
        ])  # fmt: skip
        forms = [
            f"jax.device_put({{}}, {self.target_of_put()})",
            f"jax.tree.map(lambda w: jax.device_put(w, {self.target_of_put()}), {{}})",
            f"jax.tree.map(lambda w: {self.choose(['w', 'w * 2', 'w + w'])}, {{}})",
            f"jax.jit(lambda q: {step})({{}})",
            f"jax.checkpoint(lambda q: {step})({{}})",
            f"jax.lax.fori_loop(0, 2, lambda i, q: {step}, {{}})",
            f"jax.lax.cond(inputs.flag(), lambda q: {step}, lambda q: q, {{}})",
            f"(lambda q: {step})({{}})",
        ]
        text = self.choose(forms)
        if self.chance(40):
            self.line("for _ in range(inputs.count()):")
            self.line(f"    {old} = {text.format(old)}")
            name = old
        else:
            name = self.new("o")
            self.line(f"{name} = {text.format(old)}")
            self._keep(made, name)
        (method,) = made.methods
        use = self.choose([f"{name}.x[0]", f"{name}.y + 1", f"{name}.x.sum()",
                           f"{name}.{method.name}({self.expression(MATRIX, 0)})"])  # fmt: skip
        return self.line(use)

    # -- functions that are told what to do -----------------------------------------------------

    def told(self) -> None:
        """Write a function that a text or a member tells what to give, and calls of it."""
        name = self.new("load")
        host = f"with jax.default_device({self.default_device()}):"
        matrix, other = self.choose(self.leaves(MATRIX)), self.choose(self.leaves(MATRIX))
        numpy = "np.ones((4, 4), np.float32)"
        texts = ('"a"', '"b"', '"c"')
        form = self.number(0, 4)
        if form == 3:
            kind = self.new("Kind")
            self.line("import enum")
            self.line(f"class {kind}(enum.Enum):")
            self.line("    a = 1")
            self.line("    b = 2")
            self.line("    c = 3")
            texts = (f"{kind}.a", f"{kind}.b", f"{kind}.c")
        one, two, three = texts
        self.line(f"def {name}(kind={one}):")
        if form in {0, 3}:
            first = f"    if kind {'is' if form == 3 else '=='} {one}:"
            lines = [first, f"        {host}", f"            return {matrix}",
                     f"    return {numpy} if kind == {two} else {other}"]  # fmt: skip
        elif form == 1:
            lines = [f"    if kind in ({two}, {three}):",
                     f"        return {numpy} if kind != {three} else {other}",
                     f"    {host}", f"        return {matrix}"]  # fmt: skip
        elif form == 2:
            lines = ["    match kind:", f"        case {one}:", f"            {host}",
                     f"                return {matrix}", f"        case {two}:",
                     f"            return {numpy}", "        case _:",
                     f"            return {other}"]  # fmt: skip
        else:
            lines = [f"    is_host = kind == {one}", "    if is_host:", f"        {host}",
                     f"            return {matrix}", f"    if not kind == {two}:",
                     f"        return {other}", f"    return {numpy}"]  # fmt: skip
        for line in lines:
            self.line(line)
        for text, kind_of in ((one, MATRIX), (two, NUMPY), (three, MATRIX)):
            if self.chance(60):
                made = self.new(kind_of)
                self.line(f"{made} = {name}({text})")
                self.bind(made, kind_of)
        if self.chance(50) and form != 3:
            made = self.new("either")
            self.line(f"{made} = {name}(inputs.choice())")
            self.line(self.choose([f"{made}[0]", f"{made} + 1", f"jnp.sum({made})"]))

    def helped(self) -> None:
        """Write a helper with a block of its own that only traced code calls."""
        helper, step = self.new("f"), self.new("step")
        self.line(f"def {helper}(q):")
        self.line(f"    with jax.default_device({self.default_device()}):")
        self.line("        made = jnp.cumsum(q, axis=0)")
        self.line(f"    return {self.choose(['made', 'made @ q', 'made[::-1]'])}")
        self.line("@jax.jit")
        self.line(f"def {step}(q):")
        self.line(f"    return {helper}(q) * 2")
        name = self.target(MATRIX)
        self.line(f"{name} = {step}({self.expression(MATRIX, 1)})")
        self.bind(name, MATRIX)
