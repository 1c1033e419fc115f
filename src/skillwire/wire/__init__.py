"""How the skills extension spells things. The only folder that a change of the specification touches."""
