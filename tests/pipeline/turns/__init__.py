"""Turn restrictions and turn costs: what is read of them, the split graph and its proof, and the products on it."""
