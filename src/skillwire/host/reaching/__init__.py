"""One place that skills come from: how it is reached, asked and listened to, and what it is called here."""
