"""Original and masked tables side by side."""
