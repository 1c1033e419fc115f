"""Compare our server with other servers, and with floors: programs that only send fixed bytes."""
