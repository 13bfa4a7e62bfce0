"""The explore pages of the admin: Ask, graph, timeline and groups."""
