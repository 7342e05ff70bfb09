"""Who acts: a person, or a named system acting for something recorded."""

from __future__ import annotations

from dataclasses import dataclass

from backoffice.tenants.models import User


@dataclass(frozen=True)
class Actor:
    """The one who dispatches. There is no anonymous actor."""

    name: str
    user: User | None = None
    acting_for: str = ""

    @classmethod
    def person(cls, user: User) -> Actor:
        """Act as this signed-in person."""
        return cls(name=user.email, user=user)

    @classmethod
    def system(cls, name: str, *, acting_for: str) -> Actor:
        """Act as the named system for something recorded: a plan, a job, an occurrence, a shell."""
        if not name or not acting_for:
            raise ValueError("a system acts under a name and for something recorded")
        return cls(name=f"system:{name}", acting_for=acting_for)

    @property
    def system_name(self) -> str | None:
        """The system's bare name; None for a person."""
        return None if self.user is not None else self.name.removeprefix("system:")

    @property
    def identity(self) -> str:
        """What a receipt remembers: the same key from another identity is refused."""
        return f"person:{self.user.pk}" if self.user is not None else self.name
