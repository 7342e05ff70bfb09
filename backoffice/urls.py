"""Every address, put together. Below `/t/<tenant>` the middleware moves the tenant into the prefix."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from backoffice.defined import Definitions
from backoffice.people import pages as people_pages
from backoffice.people import views as people

urlpatterns = [
    path("sign-in/", people.SignIn.as_view(), name="sign-in"),
    path("sign-out/", people.SignOut.as_view(), name="sign-out"),
    path("invitation/<str:token>/", people_pages.Accept.as_view(), name="invitation"),
    path("people/", people_pages.People.as_view(), name="people"),
    path("people/<int:person>/<slug:act>/", people_pages.ChangePerson.as_view(), name="person-change"),
    path(
        "people/invitations/<int:invitation>/revoke/", people_pages.RevokeInvitation.as_view(), name="invitation-revoke"
    ),
    path(
        "people/invitations/<int:invitation>/resend/", people_pages.ResendInvitation.as_view(), name="invitation-resend"
    ),
    path("me/", people_pages.Me.as_view(), name="me"),
    path("", people.Home.as_view(), name="home"),
    path("queues/", include("queues.urls")),
    path("calendar/", include("queues.calendar_urls")),
    path("plans/", include("queues.money.urls")),
    path("devices/", include("backoffice.stepup.urls")),
    path("exports/", include("exports.urls")),
    path("reports/", include("reports.urls")),
    path("jobs/", include("backoffice.jobs.urls")),
    path("notices/", include("backoffice.jobs.notice_urls")),
    path("schedules/", include("backoffice.schedules.urls")),
    path("definitions/", Definitions.as_view(), name="definitions"),
    path("settings/", include("backoffice.livesettings.urls")),
    path("admin/", admin.site.urls),
]
