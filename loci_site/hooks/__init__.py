"""Hooks: what an agent's client gets and leaves without anybody asking. `loci-hook` imports this, so it imports nothing."""
