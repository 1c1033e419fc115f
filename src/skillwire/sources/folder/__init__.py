"""Looking into folders of this machine: what stands there, what is skill, what changed, what to watch."""
