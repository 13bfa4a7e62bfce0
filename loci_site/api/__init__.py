"""REST at /api/: each endpoint takes the Actor, calls one function and renders its answer."""
