"""A fictional team for looking at the pages, and their pictures for the docs: `python -m bench.demo`."""

# How the people log in, and the browsers that show it, in pictures and tests.
PASSWORD = "a long walk by the sea"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
