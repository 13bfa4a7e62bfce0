"""What an answer shows of its memories and why: equals, short parts, the turns around a hit, the reason for a place."""
