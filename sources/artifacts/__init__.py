"""Files as evidence: read where the command runs, split into chunks with locators, found beside memories when asked for.

Read in this order: `files` and `ignoring` (what is read), `chunking`, `guarding`, `writing`, `ingest` (the steps of one run),
`search` and `evidence` (finding), `proofs` (memories that a chunk proves). Chunks are no memories: nothing else counts them.
"""
