"""The language server: what editors are told of the files that are open in them.

The loop of events (`server`, `protocol`) keeps the open documents and answers; the analysis is done
by one thread beside it (`worker`, `analysis`), on copies of their texts. pygls speaks the protocol.
"""
