"""Sessions that need more than the environment that the tests run in."""

import nox


@nox.session(python=False)
def transfer(session: nox.Session) -> None:
    """Compare all data about JAX with every version of it, and record the transfer table.

    It makes an environment for each version, from PyPI: see tests/jaxmodel/environments.py.
    """
    session.run("python", "-m", "tests.jaxmodel.transfer_record")
    session.run(
        "python", "-m", "pytest", "-m", "matrix", "tests/jaxmodel",
        "--ignore", "tests/jaxmodel/test_transfer_matrix.py",
    )  # fmt: skip
