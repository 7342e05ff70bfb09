"""Tenants: whose data it is, who belongs to it, and the scope without which no query runs.

`scope.open(tenant)` opens a tenant for a block; `TenantModel.objects` raises outside one;
`scope.unscoped(reason=...)` is the one, listed, way around. Platform work belongs to the reserved
tenant `platform` (id 1); the role `operator` exists only there.
"""
