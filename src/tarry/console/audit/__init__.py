"""The audit page: an upload, its choices, a child process that audits it, and what was found."""
