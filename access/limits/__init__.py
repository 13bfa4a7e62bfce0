"""What a person may take: a time for each answer, a turn among those who ask, and so many writes."""
