"""Names of the HTTP loop that both of its ends use."""

LOOP_PATH = "/mdp/http-loop"
SESSION_HEADER = "x-mdp-session-id"
