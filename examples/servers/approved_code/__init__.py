"""Code that runs only after it was judged and approved: the workshop behind the two tools of code mode.

`check` says whether code may run, `judge` says it in words, `approvals` remembers who may run what, and
`evaluate` runs it. `desk` puts the four together. Nothing in here knows of MCP.
"""
