"""The browser extension in a real Chromium, on small replicas of the sites that it reads, with a real server."""
