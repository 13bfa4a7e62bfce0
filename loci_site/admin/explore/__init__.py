"""The explore pages of the admin: recall playground, graph, timeline and groups."""
