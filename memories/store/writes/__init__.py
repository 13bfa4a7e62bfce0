"""The single steps of the write path, and the executor that carries them out."""
