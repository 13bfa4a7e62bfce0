"""PostgreSQL under writers, kills, purges and moves: servers of a wheel that a proof may kill."""
