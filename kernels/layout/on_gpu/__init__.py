"""Parts of the layout on the GPU: `numbering` of vertices, `ranges` of rows that go to the host's memory, of edges from there."""
