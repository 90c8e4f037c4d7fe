"""What `placement-lint trace` costs on the data path: `python benchmarks/tracing.py`.

A program takes items of a data set on the host, sends each to the accelerator and computes with it,
on two virtual devices; plain and traced alternate. Printed are the ratios of processor time for an
item, for each way to keep the data set: committed; taken inside of `jax.default_device`;
uncommitted and dragged to the accelerator each time, for data sets of some sizes. The bar is 2 for
data sets from 16 MB on. A copy is slowed down by half a millisecond to two, whatever its size: it
goes through Python each time, so that it can be counted.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BAR = 2.0
LEAST = 16
"""Megabytes of a data set from which on the bar holds."""
ROUNDS = 3
ITEM = 6 * 1024 * 2
CASES = (
    ("committed", 64, 300),
    ("block", 64, 300),
    ("outside", 64, 5),
    ("outside", 16, 20),
    ("outside", 4, 50),
    ("outside", 1, 50),
)
"""The way, megabytes, items."""
PROGRAM = """\
import json, sys, time
import jax, jax.numpy as jnp, numpy as np

way, rows, items = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
accelerator, host = jax.devices()[0], jax.devices("cpu")[-1]

@jax.jit
def step(total, item):
    return total + jnp.sum(item)

def take(tokens):
    total = jnp.zeros((), jnp.uint32)
    for i in range(items):
        if way == "block":
            with jax.default_device(host):
                item = tokens[i % rows]
        else:
            item = tokens[i % rows]
        total = step(total, jax.device_put(item, accelerator))
    return total.block_until_ready()

with jax.default_device(host):
    tokens = jnp.asarray(np.ones((rows, 6, 1024), np.uint16))
if way == "committed":
    tokens = jax.device_put(tokens, host)
take(tokens)
best = []
for _ in range(7):
    start = time.process_time()
    take(tokens)
    best.append(time.process_time() - start)
print(json.dumps(min(best) / items))
"""


def seconds(command: list[str], folder: str, environment: dict[str, str]) -> float:
    """Run a program and give what it prints."""
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout))


def main() -> int:
    """Print the ratios; give 1 where one is over the bar."""
    top = str(Path(__file__).resolve().parents[1])
    base = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))}
    base["PYTHONPATH"] = os.pathsep.join([top, *filter(None, [base.get("PYTHONPATH")])])
    plain = {
        **base,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
    }
    tracing = ["-m", "placement_lint", "trace", "--devices", "virtual", "--output-file", "report"]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "program.py").write_text(PROGRAM, encoding="utf-8")
        for way, size, items in CASES:
            words = ["program.py", way, str(max(1, size * 10**6 // ITEM)), str(items)]
            pairs = [
                (
                    seconds([sys.executable, *words], folder, plain),
                    seconds([sys.executable, *tracing, *words], folder, base),
                )
                for _ in range(ROUNDS)
            ]
            ratio = statistics.median(traced / bare for bare, traced in pairs)
            bare, traced = (1e6 * min(times) for times in zip(*pairs, strict=True))
            over = ratio > BAR and size >= LEAST
            failed |= over
            print(
                f"{way:>9} {size:>3} MB: {bare:8.0f} µs an item plain, {traced:8.0f} traced, "
                f"ratio {ratio:.2f}{'  OVER THE BAR' if over else ''}"
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
