"""The search for a good release: parameters chosen by what they do to risk and utility."""
