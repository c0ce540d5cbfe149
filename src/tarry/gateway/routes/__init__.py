"""The addresses of the gateway, one file a subject."""
