"""The front door: the first page, and a story about delays with something to drag in each picture."""
