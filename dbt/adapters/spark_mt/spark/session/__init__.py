"""Use of a Spark session: errors, confs, files, types."""
