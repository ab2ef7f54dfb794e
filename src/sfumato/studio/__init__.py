"""The studio: the whole work in a browser, on this machine alone, for people who do not program.

The plan file is the state. Every click is an edit of it (`desk`); what takes long runs in a process
of its own (`jobs`, `worker`, `tasks/`); every page is made anew from the plan and from what these
left on the disk (`rooms/`). So a reload or a restart loses nothing, and what stands in the plan is
all that `sfumato protect` needs to make the same release.
"""
