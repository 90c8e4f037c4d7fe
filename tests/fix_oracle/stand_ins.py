"""What programs find in place of files that are not there, and of what the stage cannot emulate."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_SHAPE = (8, 4)
_KEYS = ("tokens", "x")


class _Tensors(dict[str, Any]):
    """A file of tensors that has every key that is asked for."""

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__({key: make() for key in _KEYS})

    def __missing__(self, key: str) -> Any:
        # None that is made only now: whoever asks for a key has run no operation.
        return self[_KEYS[0]]


def give_files() -> None:
    """Let the functions that load arrays give some, where there is no such file."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import safetensors.flax
    import safetensors.numpy

    jax.tree_util.register_pytree_node(
        _Tensors,
        lambda held: ([*held.values()], [*held]),
        lambda keys, values: dict(zip(keys, values, strict=True)),
    )

    def numbers() -> Any:
        return np.arange(32, dtype=np.float32).reshape(_SHAPE)

    def tensors(path: str) -> Any:
        return _Tensors(numbers) if path.endswith(".npz") else numbers()

    _replace(safetensors.flax, "load_file", lambda _: _Tensors(lambda: jnp.asarray(numbers())))
    _replace(safetensors.numpy, "load_file", lambda _: _Tensors(numbers))
    _replace(np, "load", tensors)
    _replace(np, "memmap", tensors)
    _replace(np, "fromfile", tensors)
    _replace(jnp, "load", lambda _: jnp.asarray(numbers()))


def _replace(module: Any, name: str, make: Callable[[str], Any]) -> None:
    real = getattr(module, name)

    @functools.wraps(real)
    def loading(file: Any, *args: Any, **keywords: Any) -> Any:
        if isinstance(file, str | Path) and not Path(file).exists():
            return make(str(file))
        return real(file, *args, **keywords)

    setattr(module, name, loading)


def put_dlpack_on(host: Any, put: Callable[..., Any]) -> None:
    """Let `from_dlpack` commit what is in the memory of the host to the host that is emulated.

    JAX commits it to its first CPU device, which on the stage is an accelerator.
    """
    import jax
    import jax.numpy as jnp

    modules: tuple[Any, ...] = (jnp, jax.dlpack)
    for module in modules:
        real = module.from_dlpack

        def loading(array: Any, *args: Any, real: Any = real, **keywords: Any) -> Any:
            made = real(array, *args, **keywords)
            return made if isinstance(array, jax.Array) else put(made, host)

        module.from_dlpack = functools.wraps(real)(loading)
