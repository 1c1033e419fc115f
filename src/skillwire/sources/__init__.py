"""Where skills come from, one file for each kind."""
