"""What comes in and goes out: import, export, evaluation sets."""
