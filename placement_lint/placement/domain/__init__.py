"""The abstract domain: values, containers, states, and the record of an execution.

- Values: `values` is a set of alternatives, and has the most important of these. Others are in
  `program_values` (functions, classes and objects of the program), `devices`, `keys`,
  `library_values`, `platform_names`, `sharding` and `transformations`. `sized`
  limits them, `shared_values` and `one_of_equal` keep one of equal ones, `ordering` takes them in
  one order, `describe` puts them into words.
- Containers: `containers` knows all names of one, `contents` what is in a value.
- Where things are made: `places`.
- One point of an execution: `state`, with the meshes in force (`mesh_contexts`, `mesh_devices`).
- What was seen: `record`, with `pulls` (what runs on the host) and `sharded_calls`; of a supposed
  fix, `consequences`.
"""
