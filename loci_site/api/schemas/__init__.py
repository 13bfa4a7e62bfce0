"""Request and response schemas of the REST API."""
