"""What a file may cost. Each bound is a setting that operators change; a bound that is hit refuses, never truncates."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from backoffice import livesettings
from backoffice.errors import Refusal


@dataclass(frozen=True)
class Bounds:
    """Name the settings of each bound: rows, seconds of reading, megabytes, runs at once, hours it is kept."""

    rows: str
    seconds: str
    megabytes: str
    concurrent: str
    lifetime_hours: str

    def names(self) -> dict[str, str]:
        """Return each bound's setting by the bound's own name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def unknown(self) -> list[str]:
        """Return the bounds whose setting does not exist."""
        return [f"{bound}={name!r}" for bound, name in self.names().items() if name not in livesettings.settings]

    def read(self) -> Limits:
        """Read the values in force for the open tenant."""
        return Limits(
            bounds=self,
            rows=livesettings.get(self.rows),
            time=timedelta(seconds=livesettings.get(self.seconds)),
            bytes=livesettings.get(self.megabytes) * 1_000_000,
            concurrent=livesettings.get(self.concurrent),
            lifetime=timedelta(hours=livesettings.get(self.lifetime_hours)),
        )


@dataclass(frozen=True)
class Limits:
    """The bounds' values at one moment, and the words in which each refuses."""

    bounds: Bounds
    rows: int
    time: timedelta
    bytes: int
    concurrent: int
    lifetime: timedelta

    @property
    def seconds(self) -> int:
        return int(self.time.total_seconds())

    @property
    def hours(self) -> int:
        return int(self.lifetime.total_seconds() // 3600)

    def check_rows(self, rows: int) -> None:
        """Refuse more rows than allowed."""
        if rows > self.rows:
            raise Refusal(
                "too-many-rows",
                _("There are more than %(limit)d rows, the bound %(name)s. Narrow it with the filters.")
                % {"limit": self.rows, "name": self.bounds.rows},
            )

    def check_bytes(self, size: int) -> None:
        """Refuse a file that grows past its size."""
        if size > self.bytes:
            raise Refusal(
                "too-large",
                _("The file grows past %(limit)d megabytes, the bound %(name)s. Narrow it with the filters.")
                % {"limit": self.bytes // 1_000_000, "name": self.bounds.megabytes},
            )

    def check_concurrent(self, running: int) -> None:
        """Refuse one more run when as many as allowed are on their way."""
        if running >= self.concurrent:
            raise Refusal(
                "too-many-running",
                _("%(limit)d of these are running already, the bound %(name)s. Wait for one to end, or cancel one.")
                % {"limit": self.concurrent, "name": self.bounds.concurrent},
            )

    def out_of_time(self) -> Refusal:
        """Return the refusal of a run that reads for too long."""
        return Refusal(
            "too-long",
            _("Reading took longer than %(limit)d seconds, the bound %(name)s. Narrow it with the filters.")
            % {"limit": self.seconds, "name": self.bounds.seconds},
        )
