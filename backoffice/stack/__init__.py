"""The embedded PostgreSQL, Valkey and S3 servers, and `manage.py up`, which runs the whole product.

What stays true:
- Every process started here dies with the one that started it, however that one ends.
- Nothing listens beyond the loopback address, and every server asks for a generated password.
- Secrets are made once for a data folder and readable by its owner only.
- A server named in the environment (`DATABASE_URL`, `REDIS_URL`, `S3_ENDPOINT_URL`) is used, not started.

`state`, `servers` and what they import need no Django, since the settings read the state.
"""
