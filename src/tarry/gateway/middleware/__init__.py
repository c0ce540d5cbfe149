"""Middleware for an app that exists: it holds the POSTs of chosen views, and calls the views at release."""
