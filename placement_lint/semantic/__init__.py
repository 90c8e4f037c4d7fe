"""The semantic model of one file: what rules may ask about its functions, loops and environment.

`model` has all facts of a file, `file_view` is what a rule asks through, and `program_queries` what
it may ask about other files.

- Functions: `functions`, `compiled_functions`, `generators`, `given_functions` and `elsewhere`
  (what is given to workers and callbacks), `tracing` (what JAX traces), `config_contexts` (what
  enters a configuration context of JAX).
- Names and objects: `attribute_types`, `beside` (what another file of the program defines),
  `followed`, `given_to_parameters` (by calls), `known_types`, `method_uses`, `named_places` (what
  arrays are put on), `object_classes`, `own_attributes`, `replaced_names` (by tests), `returned`
  (what functions give), `set_attributes`, `spread_options`, `written_tables`.
- What happens when: `execution_order`, of the events on `ways`, which `execution_steps` lead to;
  `local_functions` (that calls execute), `called_when_decorated` and `module_summary` (what
  importing does), `enclosing` (what is around a node), `called_from` (and around the calls of its
  function), `first_process`, `leaving` (what does not come to an end), `platform_pins`,
  `tolerated` (failures that helpers catch), `untraced`, `version_guards`.
- What a loop waits for: `loops`, `host_reads` (what the host reads of the device), `kept_results`,
  `passed_on`, `tested_names`, `written_files`.
- Words, literals and arrays: `array_operators`, `expressed_words`, `written_arrays`,
  `written_shardings`.
- Libraries: `datasets`, `tensorflow_use`, `worker_choices` (of loaders).
- Donated buffers: `donation`.
"""
