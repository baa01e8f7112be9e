"""``retrograd mcp``: the commands as tools of a Model Context Protocol server, for coding agents."""
