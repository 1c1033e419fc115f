"""Terminal input and output that all commands share: results, messages, questions and options."""
