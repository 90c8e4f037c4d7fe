"""What becomes of a run in which something of ours fails, or of the system: nothing else is lost.

`injection.py` makes it fail, in this process or in others; `pytest -m every tests/faults` makes
everything fail in every way, where the default suite takes the quick ones.
"""
