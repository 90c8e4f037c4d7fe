"""Which files say where arrays go, by their words."""

import pytest

from placement_lint.prefilter.conditions import FileText
from placement_lint.project.small_programs import says_where


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = jax.device_put(x)", True),
        ("x = jax.device_put_sharded(x)", False),
        ("if d.platform == p: ...", True),
        ("platform = 1", False),
        ("jax.debug.callback(f)", True),
        ("debugger.callback(f)", False),
        ("jax.devices ()", True),
        ("jax.local_devices()", True),
        ("devices()", False),
        ("with Mesh(devices, axes): ...", True),
        ("def f(mesh: Mesh): ...", False),
        ("x = jnp.array(train_images)", True),
        ("x = jnp.array(weights)", False),
    ],
)
def test_words_that_say_where_arrays_go(code: str, says: bool) -> None:
    text = f"import jax\n{code}\n".encode()
    assert says_where(FileText(text, jax=True)) is says
    assert not says_where(FileText(text, jax=False))
