"""Accounts, groups, tokens, rights and the audit log."""
