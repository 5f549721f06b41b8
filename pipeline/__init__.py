"""The work between files: ingest, layout, stages, verify, report, publish; the command. Knows Parquet, never Prefect."""
