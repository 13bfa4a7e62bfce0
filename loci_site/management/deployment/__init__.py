"""What an installation needs around Loci: a service of the system, and a sample team."""
