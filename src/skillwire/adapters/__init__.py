"""Our tools in the shape of agent frameworks: a module for each, which alone imports that framework."""
