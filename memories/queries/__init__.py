"""Read-only queries and query parts that the other packages share."""
