"""How the people of the sample team log in, and the browsers that show it, in pictures and tests."""

PASSWORD = "a long walk by the sea"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
