"""Addresses of the notices."""

from __future__ import annotations

from django.urls import path

from backoffice.jobs import notice_views as views

urlpatterns = [
    path("", views.Notices.as_view(), name="notices"),
    path("read/", views.Read.as_view(), name="notices-read"),
    path("<int:notice_id>/read/", views.Read.as_view(), name="notice-read"),
]
