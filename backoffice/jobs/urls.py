"""Addresses."""

from __future__ import annotations

from django.urls import path

from backoffice.jobs import views

urlpatterns = [
    path("", views.Jobs.as_view(), name="jobs"),
    path("<int:job_id>/", views.OneJob.as_view(), name="job"),
    path("<int:job_id>/cancel/", views.CancelJob.as_view(), name="job-cancel"),
    path("<int:job_id>/retry/", views.RetryJob.as_view(), name="job-retry"),
]
