"""Categories: compared record by record, in tables, and as a noisy channel."""

ORDER = ("distance", "ctbil", "noisy_channel")
