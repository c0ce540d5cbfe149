"""The gateway: a door for many. Posts come in over HTTP, wait in the keeper's store, and leave."""
