"""The protocol's own conformance suite against Loci's bridge.

The suite calls tools, resources and prompts by fixed names, so it runs against a server made for it, in which nothing is
Loci's except what carries it: the same bridge, Django and uvicorn as for Loci's tools.
"""
