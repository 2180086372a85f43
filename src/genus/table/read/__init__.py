"""Where tables come from: files, queries and frames, as streams of Arrow batches."""
