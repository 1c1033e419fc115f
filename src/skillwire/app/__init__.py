"""Put it together: open the sources, build the server, serve it over stdio or HTTP."""
