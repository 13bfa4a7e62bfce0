"""Proof: nobody stops another, and a full disk, broken files and forged backups do no harm."""
