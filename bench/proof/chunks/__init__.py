"""The chunk size of the vector table."""
