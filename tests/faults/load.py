"""What people and programs want meanwhile: jobs, submitted until it is confirmed; pages, cancels and retries."""

from __future__ import annotations

import http.client
import random
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, connections
from django.test import Client

from backoffice import jobs
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User

UNSETTLED = 40
BIG = 10_000_000


@dataclass
class Intention:
    """A job that somebody wants: submitted again under its key until it is confirmed."""

    kind: str
    key: str
    arguments: dict[str, int | str]
    job: int | None = None

    @property
    def outcome(self) -> str:
        return "failed" if self.arguments["refuse"] else "succeeded"


@dataclass
class Load:
    """The jobs wanted so far, and one person's session."""

    tenant: Tenant
    person: User
    port: int
    chance: random.Random
    intentions: list[Intention] = field(default_factory=list)
    cancelled: set[int] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    _session: str = ""

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    def want(self) -> Intention:
        """Think of a job."""
        chance = self.chance
        arguments: dict[str, int | str] = {
            "pause": chance.choice((0, 20, 100, 300, 800)),
            "times": chance.choice((0, 0, 0, 0, 1, 2)),
            "size": chance.choice((10, 10, 10, BIG)),
            "refuse": int(chance.random() < 0.08),
        }
        kind = chance.choice(("probe.effects", "probe.effects", "probe.bulk-effects"))
        wanted = Intention(kind, f"intention-{len(self.intentions)}", arguments)
        self.intentions.append(wanted)
        return wanted

    def submit(self, wanted: Intention) -> None:
        """Submit it; twice now and then. In an outage it stays wanted."""
        try:
            with scope.open(self.tenant):
                for _turn in range(2 if self.chance.random() < 0.1 else 1):
                    job = jobs.submit(
                        kind=wanted.kind, key=wanted.key, arguments=wanted.arguments, requested_by=self.person
                    )
                    if wanted.job not in (None, job.pk):
                        raise AssertionError(f"{wanted.key} gave two jobs: {wanted.job} and {job.pk}")
                    wanted.job = job.pk
        except (DatabaseError, InterfaceError):
            connections.close_all()
            self.count("submissions cut off")

    def go_on(self) -> None:
        """Submit what is still wanted, and something new while not too much waits."""
        for wanted in [one for one in self.intentions if one.job is None]:
            self.submit(wanted)
        if self.unsettled() < UNSETTLED:
            for _turn in range(4):
                self.submit(self.want())

    def unsettled(self) -> int:
        """Count the jobs that have not ended; many in an outage."""
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM job WHERE settled_at IS NULL")
                return int(cursor.fetchone()[0])
        except (DatabaseError, InterfaceError):
            connections.close_all()
            return 10**6

    def click(self) -> None:
        """Look at pages; cancel a job or run one again."""
        known = [one.job for one in self.intentions if one.job is not None]
        if not known:
            return
        job = self.chance.choice(known)
        act = self.chance.choice(("look", "look", "cancel", "retry"))
        try:
            if act == "look":
                path = self.chance.choice(("jobs/", f"jobs/{job}/", "notices/"))
                self._get(path)
            else:
                if act == "cancel":
                    job = self.chance.choice(known[-10:])
                    self.cancelled.add(job)
                status = self._post(f"jobs/{job}/{act}/", key=f"{act}-{job}")
                self.count(f"web {act} {status}")
        except (OSError, http.client.HTTPException, DatabaseError, InterfaceError):
            connections.close_all()
            self.count("requests cut off")

    def _headers(self) -> dict[str, str]:
        if not self._session:
            client = Client()
            client.force_login(self.person)
            self._session = client.cookies[settings.SESSION_COOKIE_NAME].value
        return {"Cookie": f"{settings.SESSION_COOKIE_NAME}={self._session}"}

    def _get(self, path: str) -> tuple[str, str]:
        """Return the page and its CSRF cookie."""
        answer, body = self._ask("GET", path, self._headers())
        self.count(f"web look {answer.status}")
        cookie = re.search(r"csrftoken=(\w+)", answer.headers.get("Set-Cookie", ""))
        return body, cookie[1] if cookie else ""

    def _post(self, path: str, *, key: str) -> int:
        _body, token = self._get("jobs/")
        headers = self._headers()
        headers["Cookie"] += f"; csrftoken={token}"
        headers |= {"X-CSRFToken": token, "Content-Type": "application/x-www-form-urlencoded"}
        return self._ask("POST", path, headers, urlencode({"key": key}))[0].status

    def _ask(self, method: str, path: str, headers: dict[str, str], body: str | None = None) -> tuple[Any, str]:
        opened = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            opened.request(method, f"/t/{self.tenant.slug}/{path}", body=body, headers=headers)
            answer = opened.getresponse()
            return answer, answer.read().decode("utf-8", "replace")
        finally:
            opened.close()
