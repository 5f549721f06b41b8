"""Trees with parts on several ranks: joined by edges between ranks, and named by their smallest external ids."""
