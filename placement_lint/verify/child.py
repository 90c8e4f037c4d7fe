"""The subprocess: `python -m placement_lint.verify.child TASK-AS-JSON ANSWER-FILE`.

Writes an object to the answer file: what the task found, or {"error": the short reason}. What
the user's code prints goes to stdout and stderr as ever.
"""

import importlib.metadata
import importlib.util
import json
import platform
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from placement_lint.verify.lifeline import end_group, hold_lifeline, leave
from placement_lint.verify.observation import as_observations
from placement_lint.verify.offline import refuse_network
from placement_lint.verify.processes import in_two_processes_of
from placement_lint.verify.proofs import FRESH, MESH, NO_JAX, PLAIN, PROCESSES
from placement_lint.verify.run import Run

_REASON_KEPT = 300
_FRESH = "fresh: the code itself imports JAX, on the CPU"
_TWO_PROCESSES = "two processes of jax.distributed on loopback, each with two virtual CPU devices"


def probe(_: Mapping[str, Any]) -> dict[str, Any]:
    """Find out what JAX is here."""
    import jax

    return {
        "python": platform.python_version(),
        "jax": jax.__version__,
        "jaxlib": _version("jaxlib"),
        "safetensors": _version("safetensors"),
        "default_backend": jax.default_backend(),
        "devices": [str(device) for device in jax.devices()],
        "device_kind": jax.devices()[0].device_kind,
        "memory": (jax.devices()[0].memory_stats() or {}).get("bytes_limit"),
        "installed": sorted({*map(_name, importlib.metadata.distributions())} - {""}),
    }


def _name(distribution: importlib.metadata.Distribution) -> str:
    # A broken installation has distributions without a name.
    return str(distribution.metadata["Name"] or "").lower()


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def proof(task: Mapping[str, Any]) -> dict[str, Any]:
    """Run one side of a proof under observation."""
    stage = task["stage"]
    path, side = Path(task["path"]), task["side"]
    if stage == NO_JAX:
        module = _load(path)
        run = Run(getattr(module, side), None, None, "no JAX involved")
    elif stage == FRESH:
        module = _load(path)
        run = Run(getattr(module, side), None, None, _FRESH)
    elif stage == PROCESSES:
        module = _load(path)
        look = in_two_processes_of(path, side)
        run = Run(getattr(module, side), None, None, _TWO_PROCESSES, look=look)
    else:
        from placement_lint.verify.stage import enter_mesh, enter_stage

        devices = enter_mesh() if stage == MESH else enter_stage(plain=stage == PLAIN)
        module = _load(path)
        run = Run(getattr(module, side), devices.accelerator, devices.host, devices.note)
    observations = as_observations(module.observe(run))
    return {
        "observations": [item.as_json() for item in observations],
        "calls": run.calls,
        "stage": run.note,
    }


def process(task: Mapping[str, Any]) -> dict[str, Any]:
    """Be one of the processes of a proof, and say what is seen there."""
    module = _load(Path(task["path"]))
    run = Run(getattr(module, task["side"]), None, None, f"process {task['process']}")
    saw = getattr(module, task["see"])(run)
    # What JSON cannot hold must fail here, with its own message.
    json.dumps(saw)
    return {"saw": saw, "calls": run.calls}


def _load(path: Path) -> ModuleType:
    # The folder of the proofs may be read-only, and is not ours to litter.
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("proof", path)
    if spec is None or spec.loader is None:
        msg = f"cannot load {path}"
        raise ImportError(msg)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def datapath(task: Mapping[str, Any]) -> dict[str, Any]:
    """Write the token file, or measure one way of loading it."""
    from placement_lint.verify.datapath import write_tokens
    from placement_lint.verify.measure import measure
    from placement_lint.verify.stage import enter_stage

    file = Path(task["file"])
    if task["way"] == "write":
        return {"rows": write_tokens(file, int(task["size"]))}
    devices = enter_stage(plain=False)
    measured = measure(task["way"], file, devices.accelerator, devices.host)
    return {**measured, "stage": devices.note}


def meshpath(task: Mapping[str, Any]) -> dict[str, Any]:
    """Measure one way of placing what a step on a mesh is given."""
    from placement_lint.verify.meshpath import measure
    from placement_lint.verify.stage import enter_mesh

    note = enter_mesh().note
    return {**measure(task["way"]), "stage": note}


def models(task: Mapping[str, Any]) -> dict[str, Any]:
    """Execute the models of the settings."""
    from placement_lint.verify.transfers.own import execute

    # Behind all that is installed: nothing in the directory may take the place of a package.
    sys.path.append(task["directory"])
    return {"models": execute(task["models"], Path.cwd())}


TASKS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "probe": probe,
    "proof": proof,
    "process": process,
    "datapath": datapath,
    "meshpath": meshpath,
    "models": models,
}


def main(arguments: list[str]) -> int:
    """Do the task; the answer file says how it went."""
    refuse_network()
    request, answer = json.loads(arguments[0]), Path(arguments[1])
    is_member = request["task"] == "process"
    lifeline = hold_lifeline(leave if is_member else end_group)
    try:
        value = TASKS[request["task"]](request)
    except ModuleNotFoundError as error:
        value = {"error": f"no module: {error.name}"}
    # Whatever the code under observation raises, and BaseException too, is a failure with a reason.
    except BaseException as error:
        value = {"error": short_reason(error)}
    # Whoever sees the answer must see all of it.
    part = answer.with_suffix(".part")
    part.write_text(json.dumps(value), encoding="utf-8")
    part.replace(answer)
    if is_member:
        sys.stdout.flush()
        lifeline.join()
    return 0


def short_reason(error: BaseException) -> str:
    """One line that says what was raised."""
    text = " ".join(str(error).split())
    return f"raised {type(error).__name__}: {text[:_REASON_KEPT]}".rstrip(": ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
