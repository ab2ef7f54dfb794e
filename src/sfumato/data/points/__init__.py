"""Records as points: coordinates to measure, turn and bring back."""
