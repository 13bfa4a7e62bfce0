"""The schedule on both brokers while processes are killed."""
