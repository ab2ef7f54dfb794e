"""From a plan to a release: run the steps, recount the promises, write everything or nothing."""
