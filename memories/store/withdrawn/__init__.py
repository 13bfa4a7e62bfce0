"""Rejected, retracted and purged texts, wherever they are said again.

Read it in this order: reach (the tables) → tombstones (the marks that a text leaves) → marks (texts that match them) →
near and other_fact (restatements) → left_out (recall) and texts (checkpoints, instructions, names).
"""
