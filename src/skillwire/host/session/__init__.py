"""One conversation with a model: loaded skills, verified reads, and the tools for the model."""
