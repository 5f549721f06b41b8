"""Many shortest-path trees: sweeps over a hierarchy, beside single searches and other libraries."""
