"""Files as evidence: read on this machine, split into chunks with locators, found by recall on request.

Read in this order: `reading` (what is read), `chunking`, `guarding`, `writing`, `ingest` (the steps of one run),
`search` and `evidence` (finding), `proofs` (memories that a chunk proves). Chunks are not memories: nothing else counts them.
"""
