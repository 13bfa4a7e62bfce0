"""Trains the classifier of instructions to an AI (guard/injection/reading.py) from the texts in `templates/`."""
