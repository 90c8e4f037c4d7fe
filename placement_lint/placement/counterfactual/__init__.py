"""Counterfactual executions: what would change in a program if arrays were committed."""
