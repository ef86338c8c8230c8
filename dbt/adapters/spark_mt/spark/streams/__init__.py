"""Sources and streams of Structured Streaming."""
