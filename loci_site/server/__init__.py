"""The server processes: web, supervisor, health, static files and threads for the database."""
