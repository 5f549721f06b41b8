"""What the command says about published runs, and about a run before it begins."""
