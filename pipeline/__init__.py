"""The work between files: ingest, layout, stages, verify, publish. Knows Parquet and Dask, never Prefect."""
