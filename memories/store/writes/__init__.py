"""The steps of the write path, and the executor that runs them."""
