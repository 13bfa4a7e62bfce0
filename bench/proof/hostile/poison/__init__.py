"""Agents with a write token against verified facts."""
