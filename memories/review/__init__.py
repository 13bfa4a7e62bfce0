"""The review: the deck of open decisions, its cards, and carrying decisions out or undoing them."""
