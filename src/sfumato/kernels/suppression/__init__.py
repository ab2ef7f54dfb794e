"""Suppressing few cells, and counting who matches whom."""
