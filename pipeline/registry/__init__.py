"""What runs and commands make beside the algorithms of `kernels.registry`, each described once.

`products` has the products, `stages` what a run adds to the answer of a stage, and `graph` the tables of the stored graph;
`entries` explains the fields. Configuration, steps, tables, report, estimates and help walk these lists. Functions and classes
are named as "module:name", and imported on first use: an entry names code of every layer, and is itself below all of them.
docs/adding-a-product.md walks through an entry.
"""
