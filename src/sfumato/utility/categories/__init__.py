"""Categories: compared record by record, in tables, and as a noisy channel."""

ORDER = ("compared", "noisy_channel")
