"""Read files, queries and frames as streams of Arrow batches."""
