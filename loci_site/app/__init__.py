"""The ways in, and each person's own pages: account, conversations, help; in the one site's frame."""
