"""What a host remembers on this machine: which server a label means, what was approved, what was fetched."""
