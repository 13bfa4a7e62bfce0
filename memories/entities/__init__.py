"""Relations between entities, and what is known about them."""
