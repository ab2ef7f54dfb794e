"""Drawing and imputing values from models."""
