"""The proof: run each rule's hazard and its fix on the JAX and the hardware at hand.

The process that asks imports no JAX: only the subprocesses do that it starts, each for one side of
one proof.

- From the command to what is printed: `command`, `report`, `page`, `figure`.
- A proof: `proofs` finds it, `run` and `instruments` are what it is given, `observation` judges,
  `own` is for rules about this tool, `processes` for those about several processes.
- The subprocess: `runner` starts it, `child` is it, `stage` has the devices, `environment` and
  `offline` keep others out, `lifeline` and `interrupts` end it.
- Measurements: `datapath`, `datapath_run`, `meshpath`, `meshpath_run`, `measure`, `sizes`.
- `models` and `transfers` try the transfer table; `record` and `versions` are for several JAX
  versions.
"""
