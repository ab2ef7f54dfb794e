"""Hiding cells so that the sensitive ones cannot be worked out."""
