"""What an agent's session starts and ends with."""
