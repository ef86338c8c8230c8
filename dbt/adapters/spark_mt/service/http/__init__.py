"""What a manager says over HTTP: the REST interface, health, metrics and the status page."""
