"""Attacks that look a person up: the released records that fit, and what these say."""

ORDER = ("repu", "disco", "homogeneity", "background_knowledge", "minimality")
