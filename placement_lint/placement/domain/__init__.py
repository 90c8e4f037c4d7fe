"""The abstract domain: values, containers, states, and the record of an execution."""
