"""Which small programs are interpreted as a whole: one of their files says where arrays go."""

import pytest

from placement_lint.project.small_programs import (
    MOST_CHARACTERS,
    MOST_FILES,
    says_where,
    small_programs,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"import jax\nmesh = jax.make_mesh((8,), ('data',))", True),
        (b"import jax\nmesh = jax.sharding.Mesh (devices, axes)", True),
        (b"from jax.sharding import NamedSharding", True),
        (b"import jax\nclass TriangleMesh: pass", False),
        (b"mesh = trimesh.Mesh(vertices)", False),
        (b"import jax\nx = jax.device_put(x, device)", True),
        (b"import jax\nwith jax.default_device(cpu): pass", True),
        (b"import jax\nx = jax.jit(f)(x)", False),
    ],
)
def test_which_files_say_where_arrays_go(text: bytes, expected: bool) -> None:
    assert says_where(text) is expected


IMPORTS = [("main.py", "mesh.py", "mesh"), ("main.py", "axes.py", ""), ("other.py", "else.py", "")]
SIZES = dict.fromkeys(("main.py", "mesh.py", "axes.py", "other.py", "else.py"), 100)


def test_all_files_that_import_one_another_belong_to_it() -> None:
    assert small_programs(["mesh.py"], SIZES, IMPORTS) == {"main.py", "mesh.py", "axes.py"}


def test_a_file_alone_is_no_program() -> None:
    assert small_programs(["alone.py"], SIZES | {"alone.py": 100}, IMPORTS) == set()


def test_a_test_belongs_to_it_only_if_it_says_so_itself() -> None:
    test = "tests/test_main.py"
    imports = [*IMPORTS, (test, "main.py", ""), (test, "else.py", "")]
    sizes = SIZES | {test: 100}
    assert small_programs(["mesh.py"], sizes, imports) == {"main.py", "mesh.py", "axes.py"}
    assert small_programs([test], sizes, imports) == set(sizes)


def test_a_program_of_many_files_is_not_small() -> None:
    files = [f"part{number}.py" for number in range(MOST_FILES)]
    imports = [("main.py", each, "") for each in files]
    sizes = dict.fromkeys(("main.py", *files), 100)
    assert small_programs(["main.py"], sizes, imports) == set()
    assert small_programs(["main.py"], sizes, imports[1:]) == {"main.py", *files[1:]}


def test_a_program_with_much_text_is_not_small() -> None:
    sizes = SIZES | {"axes.py": MOST_CHARACTERS}
    assert small_programs(["mesh.py"], sizes, IMPORTS) == set()
