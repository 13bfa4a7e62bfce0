"""Search data held in memory, kept in step with the database."""
