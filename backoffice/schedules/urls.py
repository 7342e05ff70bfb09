from __future__ import annotations

from django.urls import path

from backoffice.schedules import views

urlpatterns = [
    path("", views.Schedules.as_view(), name="schedules"),
    path("<int:schedule_id>/", views.ScheduleDetail.as_view(), name="schedule"),
    path("<int:schedule_id>/<slug:action>/", views.ScheduleAction.as_view(), name="schedule-action"),
    path("occurrences/<int:occurrence_id>/", views.OccurrenceDetail.as_view(), name="occurrence"),
    path("occurrences/<int:occurrence_id>/replay/", views.Replay.as_view(), name="occurrence-replay"),
]
