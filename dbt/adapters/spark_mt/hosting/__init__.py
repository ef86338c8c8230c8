"""Hosting of tables: continuous refresh in a driver."""
