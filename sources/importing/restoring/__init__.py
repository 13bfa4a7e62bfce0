"""What only Loci's own exports have: their lines, the guard's step for them, and the audit chain."""
