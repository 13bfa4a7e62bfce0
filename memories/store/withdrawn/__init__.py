"""Rejected, retracted and purged texts, wherever they are said again.

Read it in this order: tombstones (the tables, and the marks that a text leaves) → marks (texts that match them, refused
in checkpoints, instructions and names) → near (restatements) → left_out (recall).
"""
