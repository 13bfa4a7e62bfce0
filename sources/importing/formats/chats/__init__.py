"""Exports of chat services: each turn is an event in a thread; facts that the service kept wait for a person."""
