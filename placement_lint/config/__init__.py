"""Settings: what they are, where they are read from, and what is wrong with them.

- What they are: `settings`, `options`, `values`.
- Settings files: `load`, `toml`, `rebase` (their globs), `where` and `suggest` (mistakes), `show`.
- What projects say of themselves: `dependencies` (versions of JAX), `line_length`, `listings`.
"""
