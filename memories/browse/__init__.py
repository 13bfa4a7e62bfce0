"""Reading for people: lists, one memory's details and history, statistics, suggestions, and their JSON."""
