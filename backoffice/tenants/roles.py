"""Who may do what: each role's permissions, in one place.

A permission that is named here and asked nowhere, or asked and granted to nobody, fails a check.
"""

from __future__ import annotations

from functools import cache

STAFF, SUPERVISOR, FINANCE = "staff", "supervisor", "finance"
ANALYST, AUDITOR, OPERATOR = "analyst", "auditor", "operator"

_VIEW_QUEUES = {
    "queues.view_payout",
    "queues.view_dispute",
    "queues.view_accountreview",
    "queues.view_scorechallenge",
}
_WORK_QUEUES = {
    "queues.claim",
    "queues.challenge_score",
    "queues.work_payout",
    "queues.work_dispute",
    "queues.work_accountreview",
}
# Whole account numbers: for those who decide about the money or release it.
_WHOLE = {"queues.view_sensitive"}
_OWN_VIEWS = {"queues.save_view"}
_FILES = {
    "exports.request",
    "exports.download",
    "reports.request",
    "reports.download",
    "storage.download_artifact",
    "storage.revoke_artifact",
}

ROLE_PERMISSIONS: dict[str, frozenset[str]] = {
    STAFF: frozenset(_VIEW_QUEUES | _WORK_QUEUES | _OWN_VIEWS | _WHOLE),
    SUPERVISOR: frozenset(
        _OWN_VIEWS
        | _VIEW_QUEUES
        | _WORK_QUEUES
        | _WHOLE
        | {
            "queues.override_score",
            "queues.work_scorechallenge",
            "queues.ingest",
            "queues.supervise",
            "queues.change_calendar",
            "jobs.view_job",
            "schedules.view_schedule",
            "audit.view_auditevent",
            "tenants.manage_people",
            "stepup.issue_code",
            "registry.view_definition",
        }
    ),
    FINANCE: frozenset(
        _WHOLE
        | {
            "queues.view_payout",
            "queues.save_view",
            "money.view_plan",
            "money.plan_release",
            "money.confirm_release",
            "stepup.own_device",
            "stepup.issue_code",
            "jobs.view_job",
        }
    ),
    ANALYST: frozenset({"queues.view_payout", "queues.view_dispute", "jobs.view_job"} | _OWN_VIEWS | _FILES),
    AUDITOR: frozenset(_VIEW_QUEUES | _OWN_VIEWS | {"money.view_plan", "audit.view_auditevent", "jobs.view_job"}),
    OPERATOR: frozenset(
        {
            "jobs.view_job",
            "jobs.operate_job",
            "schedules.view_schedule",
            "schedules.operate_schedule",
            "audit.view_auditevent",
            "livesettings.change_setting",
            "tenants.manage_people",
            "tenants.create_tenant",
            "registry.view_definition",
        }
    ),
}

ROLES = tuple(ROLE_PERMISSIONS)

# What every member may, whatever the role.
OWN: frozenset[str] = frozenset({"tenants.own_account"})
ROLE_PERMISSIONS = {role: granted | OWN for role, granted in ROLE_PERMISSIONS.items()}


def permissions(roles: list[str] | tuple[str, ...]) -> frozenset[str]:
    """Join the permissions of these roles."""
    return _joined(tuple(roles))


@cache
def _joined(roles: tuple[str, ...]) -> frozenset[str]:
    """Join them once: a page asks for its reader's permissions dozens of times."""
    return frozenset().union(*(ROLE_PERMISSIONS[role] for role in roles))
