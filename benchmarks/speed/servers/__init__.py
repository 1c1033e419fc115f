"""The other servers and the floors, each as a program."""
