"""What commands share when they talk to a person: output, questions, options."""
