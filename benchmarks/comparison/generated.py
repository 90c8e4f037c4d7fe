"""Trees that are written by a program: the same files everywhere, and every time."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = 10_000
SHARE_WITH_JAX = 0.02
LONG = 10_000
_FILES_PER_FOLDER = 100
_SEED = 20_260

_HEAD = '''\
"""Module {number} of {folder}: {words}."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

'''
_PLAIN = (
    '''
@dataclass
class {Name}:
    """Holds {words}."""

    path: Path
    limit: int = {number}
    verbose: bool = False

    def load(self) -> list[str]:
        """Read the lines that are not empty."""
        lines = []
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                if line.strip() and len(lines) < self.limit:
                    lines.append(line.rstrip("\\n"))
        if self.verbose:
            logger.info("%d lines of %s", len(lines), self.path)
        return lines

''',
    '''
def {name}(items: list[dict[str, int]], *, limit: int = {number}) -> dict[str, int]:
    """Sum up {words}."""
    totals: dict[str, int] = {{}}
    for item in items:
        for key, value in sorted(item.items()):
            # What is too large is left out, and said.
            if value > limit:
                logger.warning("%s: %d is more than %d", key, value, limit)
                continue
            totals[key] = totals.get(key, 0) + value
    return {{key: value for key, value in totals.items() if value}}

''',
    '''
def {name}(text: str) -> tuple[str, int]:
    """Split {words}."""
    head, _, tail = text.partition(":")
    try:
        number = int(tail or "{number}")
    except ValueError as error:
        message = f"{{head}}: {{tail!r}} is no number"
        raise ValueError(message) from error
    finally:
        logger.debug("done with %s", head)
    return head.strip(), number

''',
)
_JAX_HEAD = "import jax\nimport jax.numpy as jnp\n\n"
_JAX = (
    '''
@jax.jit
def {name}(params, batch):
    """Compute {words}."""
    hidden = jnp.tanh(batch["inputs"] @ params["w"] + params["b"])
    logits = hidden @ params["out"]
    loss = jnp.mean((logits - batch["targets"]) ** 2)
    return loss + {number}e-6 * sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))

''',
    '''
def {name}(key, sizes=({number}, 64, 8)):
    """Draw {words}."""
    layers = []
    for rows, columns in zip(sizes[:-1], sizes[1:], strict=True):
        key, sub = jax.random.split(key)
        layers.append(jax.random.normal(sub, (rows, columns)) / jnp.sqrt(rows))
    return layers

''',
)
_JAX_PLACED = '''
def {name}(batches, steps={number}):
    """Send {words} to each device in turn."""
    devices = jax.devices()
    for step, batch in zip(range(steps), batches):
        yield jax.device_put(batch, devices[step % len(devices)])

'''
_WORDS = (
    "accounts batches caches deltas events fields graphs hosts items jobs keys labels models nodes "
    "orders pages queues routes shards tables users values weights zones"
).split()


def monorepo(files: int = FILES, share: float = SHARE_WITH_JAX) -> Iterator[tuple[str, str]]:
    """Give the paths and the texts of many files, of which a share mentions jax.

    Half of those only compute with it; the other half places arrays, so that it has to be parsed.
    """
    chance = random.Random(_SEED)  # noqa: S311
    with_jax = frozenset(chance.sample(range(files), round(files * share)))
    for number in range(files):
        folder = f"package_{number // _FILES_PER_FOLDER:03}"
        yield f"{folder}/module_{number:05}.py", _module(chance, number, folder, with_jax)


def _module(chance: random.Random, number: int, folder: str, with_jax: frozenset[int]) -> str:
    blocks = [chance.choice(_PLAIN) for _ in range(chance.randint(2, 10))]
    head = _HEAD
    if number in with_jax:
        head += _JAX_HEAD
        blocks += [chance.choice(_JAX) for _ in range(3)]
        blocks += [_JAX_PLACED] if number % 2 else []
        chance.shuffle(blocks)
    texts = [head.format(number=number, folder=folder, words=_words(chance))]
    for place, block in enumerate(blocks):
        words = _words(chance)
        name = f"{words.split()[0]}_{place}"
        texts.append(
            block.format(name=name, Name=name.title(), number=chance.randint(100, 999), words=words)
        )
    return "".join(texts)


def _words(chance: random.Random) -> str:
    return " and ".join(chance.sample(_WORDS, 2))


def long_file(lines: int = LONG) -> str:
    """Give one file in which placements are followed from its first line to its last."""
    texts = [
        _JAX_HEAD,
        'cpu = jax.devices("cpu")[0]\nwith jax.default_device(cpu):\n',
        "    data = jnp.zeros((8, 8))\n\n",
    ]
    count = sum(text.count("\n") for text in texts)
    number = 0
    while count + _LONG_BLOCK.count("\n") <= lines:
        texts.append(_LONG_BLOCK.format(number=number, following=number + 1))
        count += _LONG_BLOCK.count("\n")
        number += 1
    end = ["step_0000(data)\n", *["# The end.\n"] * lines]
    texts += end[: lines - count]
    return "".join(texts)


_LONG_BLOCK = '''
def step_{number:04}(batch, rate=0.1):
    """Take a step."""
    total = jnp.sum(batch) * rate
    if total.ndim:
        total = total[0]
    for part in range(3):
        total = total + batch[part].mean()
    return step_{following:04}(batch, rate) if rate > 1 else total

'''
