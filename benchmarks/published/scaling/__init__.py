"""Speed-ups of searches and forests beside the tables of the source documents."""
