import os

import pytest

from placement_lint.verify.environment import (
    GPU,
    VIRTUAL,
    clean_environment,
    cluster_environment,
)
from placement_lint.verify.proofs import PLAIN


@pytest.mark.parametrize("devices", [VIRTUAL, GPU, PLAIN, None])
def test_the_environment_is_cleaned(devices: str | None) -> None:
    base = {
        "PATH": "/bin",
        "JAX_PLATFORMS": "tpu",
        "JAX_DEFAULT_DEVICE": "nonsense",
        "JAX_TRANSFER_GUARD": "allow",
        "XLA_FLAGS": "--no_such_flag",
        "XLA_PYTHON_CLIENT_MEM_FRACTION": ".9",
        "PYTHONWARNINGS": "error",
        "PYTHONPATH": "/mine",
        "CUDA_VISIBLE_DEVICES": "1",
        "HTTPS_PROXY": "http://proxy:3128",
        "http_proxy": "http://proxy:3128",
    }
    cleaned = clean_environment(base, devices)
    assert cleaned["PATH"] == "/bin"
    assert cleaned["CUDA_VISIBLE_DEVICES"] == "1"
    assert cleaned["PYTHONPATH"].endswith(f"{os.pathsep}/mine")
    assert "PYTHONWARNINGS" not in cleaned
    assert {name for name in cleaned if name.startswith("JAX_")} == (
        {"JAX_PLATFORMS"} if devices in {VIRTUAL, PLAIN} else set()
    )
    assert cleaned.get("JAX_PLATFORMS", "cpu") == "cpu"
    assert ("XLA_FLAGS" in cleaned) == (devices == VIRTUAL)
    assert cleaned["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert not {name for name in cleaned if "proxy" in name.lower()}


def test_a_relative_path_means_the_same_in_another_folder() -> None:
    first, *rest = clean_environment({"PYTHONPATH": f".{os.pathsep}"}, None)["PYTHONPATH"].split(
        os.pathsep
    )
    assert os.path.exists(os.path.join(first, "placement_lint", "verify"))  # noqa: PTH110, PTH118
    assert rest == [os.getcwd()]  # noqa: PTH109


def test_a_process_is_of_the_cluster_on_loopback_only() -> None:
    base = {"PATH": "/bin", "SLURM_JOB_ID": "7", "OMPI_COMM_WORLD_SIZE": "64", "TPU_NAME": "x"}
    made = cluster_environment(base, number=1, port=1234)
    assert made["PATH"] == "/bin"
    assert not {name for name in made if name.startswith(("SLURM_", "TPU_"))}
    assert made["OMPI_COMM_WORLD_SIZE"] == "2"
    assert made["OMPI_COMM_WORLD_RANK"] == "1"
    assert made["JAX_COORDINATOR_ADDRESS"] == "127.0.0.1:1234"
    assert made["JAX_PLATFORMS"] == "cpu"
