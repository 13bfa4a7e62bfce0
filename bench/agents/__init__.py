"""Real clients of agents, installed from npm, against a stub model on this machine."""
