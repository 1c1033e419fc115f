"""Our server beside its peers and beside floors that do nothing but answer bytes."""
