"""The pages of groups: their list, and one group's tabs, each with an address of its own."""
