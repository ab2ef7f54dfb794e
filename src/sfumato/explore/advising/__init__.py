"""Which method, answered by measurement: plans tried on samples, then on everybody."""
