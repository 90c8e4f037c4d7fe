"""The environments of the subprocesses: nothing that steers JAX comes from outside."""

import os
from collections.abc import Mapping
from pathlib import Path

from placement_lint.verify.proofs import MESH, PLAIN

VIRTUAL, GPU = "virtual", "gpu"
PROCESSES = 2
DEVICES_EACH = 2
DEVICES_OF_MESH = 8
"""Enough for two axes of different size: with fewer, a wrong axis and a wrong size look alike."""

# What steers JAX and XLA, and what would send gRPC and downloads somewhere (`http_proxy`).
_STEERS_JAX = ("JAX_", "XLA_")
_STEERS_TRAFFIC = ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy")
# What would make JAX look for another cluster than the one on loopback.
_OTHER_CLUSTERS = ("CLOUD_TPU_", "KUBERNETES_", "OMPI_", "SLURM_", "TPU_")


def clean_environment(base: Mapping[str, str], devices: str | None) -> dict[str, str]:
    """Environment of a subprocess: base without what steers JAX, XLA, or Python's warnings.

    devices: VIRTUAL, GPU, PLAIN, MESH, or None for "whatever JAX finds". What says which GPU may be
    used (`CUDA_VISIBLE_DEVICES`) and where libraries are is kept.
    """
    kept = {
        name: value
        for name, value in base.items()
        if not name.startswith(_STEERS_JAX)
        and name.lower() not in _STEERS_TRAFFIC
        and name != "PYTHONWARNINGS"
    }
    kept["PYTHONPATH"] = _python_path(base)
    kept["PYTHONIOENCODING"] = "utf-8"
    # One process must not take three quarters of the card from the others.
    kept["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    if devices in {VIRTUAL, PLAIN, MESH}:
        kept["JAX_PLATFORMS"] = "cpu"
    if devices == MESH:
        kept["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES_OF_MESH}"
    if devices == VIRTUAL:
        kept["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    return kept


def cluster_environment(base: Mapping[str, str], *, number: int, port: int) -> dict[str, str]:
    """Environment of process `number`, where `jax.distributed.initialize()` needs no argument.

    JAX has read the variables of Open MPI since 0.4.30 at least, and lets
    JAX_COORDINATOR_ADDRESS overrule the address made of them (measured on 0.4.30 to 0.12).
    """
    alone = {name: value for name, value in base.items() if not name.startswith(_OTHER_CLUSTERS)}
    address = f"127.0.0.1:{port}"
    return {
        **clean_environment(alone, PLAIN),
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES_EACH}",
        "JAX_COORDINATOR_ADDRESS": address,
        "JAX_COORDINATOR_BIND_ADDRESS": address,
        "OMPI_MCA_orte_hnp_uri": "0.0;tcp://127.0.0.1:1",
        "OMPI_COMM_WORLD_SIZE": str(PROCESSES),
        "OMPI_COMM_WORLD_RANK": str(number),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(number),
    }


def _python_path(base: Mapping[str, str]) -> str:
    """Python's path with this package first: the subprocess works in a folder of its own."""
    parent = str(Path(__file__).resolve().parents[2])
    entries = [parent, *filter(None, base.get("PYTHONPATH", "").split(os.pathsep))]
    return os.pathsep.join(map(os.path.abspath, entries))
