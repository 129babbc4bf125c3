"""One module per job: each orders the steps and owns no detail."""
