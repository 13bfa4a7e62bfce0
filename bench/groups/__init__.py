"""What a group needs against another's global memories: `python -m bench.groups`."""
