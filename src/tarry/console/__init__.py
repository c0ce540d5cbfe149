"""The console: pages served by the gateway. The only room that sees both gateway and study."""
