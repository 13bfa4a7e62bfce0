"""What any memory owes its users, one test for each duty, through the faces that people and agents use."""
