"""The protocol's own conformance suite against Loci's bridge: `python -m bench.conformance`.

The suite calls tools, resources and prompts by fixed names, so it runs against a server made for it
(`fixture.py`), behind the same bridge, Django and uvicorn as Loci's tools.
"""
