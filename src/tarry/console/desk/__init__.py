"""The desk page: health, parked posts, spaces and tokens, for operators."""
