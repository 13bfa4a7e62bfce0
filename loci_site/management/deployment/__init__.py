"""What an installation needs around Loci: a service of the system, a look before an upgrade, licences, a sample team."""
