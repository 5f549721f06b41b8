"""The steps between ingest and report: layout, stages, index, proofs, queries and publication."""
