"""The proof: run each rule's hazard and its fix on the JAX and the hardware at hand.

The process that asks imports no jax. Only the subprocesses that it starts do, each for one side
of one proof: `child` is what they run, `stage` sets the devices, `instruments` and `measure` look,
and `datapath` is the code that is measured, to be read and copied.
"""
