"""Who may see and do what, and what was done."""
