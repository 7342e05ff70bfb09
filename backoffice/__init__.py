"""The platform that every feature stands on: tenants, commands, audit, jobs, storage."""
