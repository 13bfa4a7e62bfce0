"""Pages of the admin for looking around: the playground of recall, the graph, the timeline, and groups as rooms."""
