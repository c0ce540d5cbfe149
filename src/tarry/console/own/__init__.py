"""One's own page: what waits in one person's own store, and forms to hand something in."""
