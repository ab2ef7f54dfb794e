"""Who the records are about: keys of people, participants, and what identifies them."""
