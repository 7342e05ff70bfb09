"""People: signing in and out, letting people in, making tenants. Who they are stands in `backoffice.tenants`."""
