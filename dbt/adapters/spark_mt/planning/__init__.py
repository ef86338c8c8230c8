"""What has to be done, as values that can be explained or executed."""
