"""The engine: the evaluation of statements, expressions and calls.

Begin with the first module of the first two groups: one executes a body, the other evaluates what
is in it. `protocols` and `class_protocols` say what each part needs of the others.

- Statements: `statements`, `targets` (assignment), `patterns` (of match statements), `narrowing`
  (tests of types), `loop_states`, `entered_contexts` (of a with statement), `contexts` and
  `context_managers` (what a context changes), `context_decorators`.
- Expressions: `expressions`, `literals`, `operators`, `subscripts`, `iteration` and `mesh_rounds`
  (loops that make meshes), `getters`.
- Operations on arrays, which decide what is copied: `operations`, `operand_layouts`,
  `placed_results`, `meshes`, `split_alike`.
- Calls: `program_calls`, `computation_calls` (of what `jax.jit` gives), `arguments`, `functions`
  and `frames` (execution of bodies), `memo` and `executions` (when one is not executed again),
  `closures` (functions that calls give), `own_names`,
  `traced_calls` (what JAX traces), `jit_options`, `super_calls`, `visible_fixtures` and
  `fixture_values` (what pytest passes to tests), `typed_objects`.
- Classes and objects: `classes`, `abstract_classes`, `metaclasses`, `instantiation`, `objects`,
  `attribute_dicts`, `attribute_hooks` (what the program does where one is read),
  `collection_classes`, `lifted_classes`, `pytrees` and `pytree_classes`.
- The program around: `linking` (names of other modules), `reach` (where placements get to),
  `supposition` (an execution with a fix supposed).
"""
