"""Sign people in. What they may do is the open tenant's business, not this backend's."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.http import HttpRequest

from backoffice.tenants.models import User


class TenantBackend(BaseBackend):
    """Check an address and a password; spend the same time on an unknown address."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        if not username or not password or "\x00" in username:
            return None
        person = User.objects.filter(email__iexact=username).first()
        if person is None:
            User().set_password(password)
            return None
        return person if person.check_password(password) and person.is_active else None

    def get_user(self, user_id: int) -> User | None:
        return User.objects.filter(pk=user_id, is_active=True).first()
