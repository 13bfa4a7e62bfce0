"""Many clients of one server, and servers killed under them."""
