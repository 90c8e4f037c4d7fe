"""Programs of hypothesmith: any Python there is, in which names of JAX stand for others."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.mutations import vocabulary
from tests.fuzz.oracle import Input
from tests.fuzz.seeds import dice_of

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

HEAD = """\
import jax, numpy as np
import jax.numpy as jnp
d = jax.devices("cpu")[0]
x = jax.device_put(0, d)
"""
_AT_ONCE = 10
_NAME = re.compile(r"[^\W\d]\w*")


def programs(number: int) -> Iterator[Input]:
    """Give a few programs; always the same ones, with one version of hypothesmith."""
    import hypothesmith

    texts: list[str] = []

    @seed(number)
    @settings(
        max_examples=_AT_ONCE,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(hypothesmith.from_node() if number % 4 else hypothesmith.from_grammar())
    def collect(text: str) -> None:
        texts.append(text)

    collect()
    dice = dice_of("anything", number)
    for position, text in enumerate(texts):
        data = _about_jax(text, dice).encode("utf-8", "surrogatepass")
        yield Input("fuzzed.py", data, f"hypothesmith {number}, the {position + 1}. program")


def _about_jax(text: str, dice: random.Random) -> str:
    """Let a program be about JAX: most of its names become others."""
    names = {name: dice.choice(vocabulary()) for name in sorted({*_NAME.findall(text)})}
    share = dice.choice([0.0, 0.5, 0.9])

    def renamed(match: re.Match[str]) -> str:
        name = match.group()
        if keyword.iskeyword(name) or keyword.iskeyword(names[name]) or dice.random() > share:
            return name
        return names[name]

    return HEAD + _NAME.sub(renamed, text)
