"""What an answer shows: which memories, equals once, short parts, the turns around a hit, the reason for a place."""
