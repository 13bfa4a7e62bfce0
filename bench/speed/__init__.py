"""The speed of recall, store and a loaded server over HTTP MCP, on made-up stores: `python -m bench.speed`."""
