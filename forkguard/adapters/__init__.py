"""All input and output: processes, git, archives, files, servers."""
