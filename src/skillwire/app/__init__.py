"""Open the sources, build the server, and serve it over stdio or HTTP."""
