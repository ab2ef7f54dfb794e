"""What an attacker can work out of a published table."""
