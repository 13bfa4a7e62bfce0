"""Notifications: mail to people who asked for it, and webhooks, when something waits, a run stopped or a backup failed."""
