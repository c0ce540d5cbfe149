"""An audit on Spark: the parts of a history are looked at by many machines.

    source    a table or Parquet files become events: numbers and moments, by the reader's own rules
    workers   what runs on the workers: plain functions over batches of rows
    engine    slices, buckets, and the tree in which partial results are merged
    session   how Spark is reached, and whether it can do the work

Only calls are made that Spark Connect knows, so that the same job runs on one computer, on a cluster, on a
service, and on other servers that speak its protocol.
"""

__all__: list[str] = []
