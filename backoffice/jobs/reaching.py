"""Which jobs a person sees and may change: the open tenant's; for an operator on the platform, all tenants'."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from django.utils.translation import gettext_lazy as _

from backoffice.commands import Actor
from backoffice.errors import NotPermitted, Refusal
from backoffice.jobs.models import Job
from backoffice.tenants import scope
from backoffice.tenants.models import Tenant, User

OPERATE = "jobs.operate_job"


def sees_all(person: User | None) -> bool:
    """Say whether the person (or a system) looks from the platform over all tenants."""
    return scope.current().is_platform and (person is None or person.has_perm(OPERATE))


def looking(person: User | None) -> AbstractContextManager[object]:
    """Hold the block's queries to what the person may look at."""
    if sees_all(person):
        return scope.unscoped(reason="operators look after the jobs of all tenants")
    return nullcontext()


def may_change(person: User, job: Job) -> bool:
    """Say whether the person may cancel or retry the job: who asked for it, or an operator."""
    return job.requested_by_id == person.pk or person.has_perm(OPERATE)


def for_change(*, actor: Actor, job_id: int) -> Job:
    """Return the job with its tenant, if the actor may change it; else refuse."""
    with looking(actor.user):
        job = Job.objects.select_related("tenant").filter(pk=job_id).first()
    if job is None:
        raise Refusal("no-such-job", _("There is no such job."))
    if actor.user is not None and not may_change(actor.user, job):
        raise NotPermitted("not-yours", _("Only the person who asked for this job, or an operator, may do this."))
    return job


def scope_of(job: Job) -> AbstractContextManager[Tenant]:
    """Open the job's own tenant."""
    return scope.open(job.tenant)
