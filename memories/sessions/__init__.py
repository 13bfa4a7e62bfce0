"""The start and end of an agent's session: context packs and checkpoints."""
