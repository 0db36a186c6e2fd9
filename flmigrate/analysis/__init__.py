"""Facts about a file or a project, read from the standard library's ``ast`` only."""
