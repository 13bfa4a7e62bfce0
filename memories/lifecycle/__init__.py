"""State changes of a stored memory; `verbs` and `edit` are the entry points."""
