"""Plans: files, steps, requirements and drafts."""
