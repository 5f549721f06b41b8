"""`graphmill init`: look at a graph file, and write a run's configuration and a deployment for it."""
