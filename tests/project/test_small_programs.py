"""Which small programs are interpreted as a whole: one of their files says where arrays go."""

import pytest

from placement_lint.prefilter.conditions import FileText
from placement_lint.project.small_programs import (
    MOST_CHARACTERS,
    MOST_FILES,
    says_where,
    small_programs,
)


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


def test_a_loader_says_so_without_jax() -> None:
    assert says_where(FileText(b"loader = DataLoader(data, num_workers=4)", jax=False))
    assert not says_where(FileText(b"loader = DataLoader(data)", jax=False))


IMPORTS = [("main.py", "mesh.py", "mesh"), ("main.py", "axes.py", ""), ("other.py", "else.py", "")]
SIZES = dict.fromkeys(("main.py", "mesh.py", "axes.py", "other.py", "else.py"), 100)


def test_all_files_that_import_one_another_belong_to_it() -> None:
    assert small_programs(["mesh.py"], SIZES, IMPORTS, SIZES) == {"main.py", "mesh.py", "axes.py"}


def test_a_file_alone_is_no_program() -> None:
    assert small_programs(["alone.py"], SIZES | {"alone.py": 100}, IMPORTS, ["alone.py"]) == set()


def test_a_test_belongs_to_it_only_if_it_says_so_itself() -> None:
    test = "tests/test_main.py"
    imports = [*IMPORTS, (test, "main.py", ""), (test, "else.py", "")]
    sizes = SIZES | {test: 100}
    assert small_programs(["mesh.py"], sizes, imports, sizes) == {"main.py", "mesh.py", "axes.py"}
    assert small_programs([test], sizes, imports, sizes) == set(sizes)


def test_a_program_of_many_files_is_not_small() -> None:
    files = [f"part{number}.py" for number in range(MOST_FILES)]
    imports = [("main.py", each, "") for each in files]
    sizes = dict.fromkeys(("main.py", *files), 100)
    assert small_programs(["main.py"], sizes, imports, sizes) == set()
    assert small_programs(["main.py"], sizes, imports[1:], sizes) == {"main.py", *files[1:]}


def test_a_program_with_much_text_is_not_small() -> None:
    sizes = SIZES | {"axes.py": MOST_CHARACTERS}
    assert small_programs(["mesh.py"], sizes, IMPORTS, sizes) == set()


def test_a_program_without_jax_is_none() -> None:
    assert small_programs(["main.py"], SIZES, IMPORTS, ["other.py"]) == set()
    assert small_programs(["main.py"], SIZES, IMPORTS, ["axes.py"]) == {
        "main.py", "mesh.py", "axes.py"
    }  # fmt: skip
