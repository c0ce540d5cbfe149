"""Other people's exports as streams of events: one reader a format, and none holds a file in memory."""
