"""Enrolling clients: the file that they download, the exchange of a code, and the check of a token."""
