"""The language server: diagnostics and code actions for the files that are open in an editor.

- The process: `run`, `protocol`, `incoming`, `parent_process`, `capabilities`.
- What the editor has: `workspace`, `text_documents`, `settings`, `projects`, `positions`, `uris`.
- When and what is analysed: `scheduler`, `analysis`.
- What is answered: `server`, by `diagnostics` and `publish`, `code_actions` and `workspace_edits`,
  `hover` and `rule_pages`.

The loop of events keeps the open documents and answers; the analysis is done by one thread beside
it, on copies of their texts. pygls speaks the protocol.
"""
