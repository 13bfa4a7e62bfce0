"""Entities and their relations: storing them, and reading what surrounds a memory."""
