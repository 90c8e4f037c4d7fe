"""A background process that has everything imported, and checks in forks of itself.

Most of a run over one file is imports: LibCST, the interpreter and the rules. The process of
`placement-lint --daemon` has done that, and forks for each run. The fork gets the arguments, the
directory, the environment and the standard streams of the caller, and runs the command as the
caller would: nothing of one run is left for the next, and a crash ends one run only.

`address` says where the process listens, `messages` how it is spoken to, `client` is the caller's
side, `server` the process itself.
"""
