"""Sources and queries of Structured Streaming."""
