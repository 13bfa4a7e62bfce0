"""The admin site: look, dashboard and explore pages."""
