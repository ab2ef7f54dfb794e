"""Releases of records: masking, judging, evidence."""
