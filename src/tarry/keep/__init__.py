"""The durable heart: posts are admitted, wait, and leave at their tick, through any crash."""
