"""The proof: run each rule's hazard and its fix on the JAX and the hardware at hand.

The parent process (`runner`, `proofs`, `observation`, `report`, `sizes`) imports no jax. Only the
subprocesses that it starts do: `child`, `stage`, `instruments` and `datapath`.
"""
