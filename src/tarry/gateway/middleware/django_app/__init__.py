"""The Django app that brings `manage.py tarry_keeper`. It has no models."""
