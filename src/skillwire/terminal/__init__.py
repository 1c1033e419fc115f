"""Terminal input and output that commands share: output, questions, options."""
