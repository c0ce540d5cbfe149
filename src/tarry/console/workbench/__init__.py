"""The workbench page: try a policy, and see what it costs, hides and promises."""
