"""Read-only queries and query parts shared by the other packages."""
