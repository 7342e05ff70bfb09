"""Addresses of the working calendar."""

from django.urls import path

from queues import calendar_page

urlpatterns = [
    path("", calendar_page.CalendarPage.as_view(), name="calendar"),
    path("holidays/add/", calendar_page.AddHoliday.as_view(), name="calendar-holiday-add"),
    path("holidays/remove/", calendar_page.RemoveHoliday.as_view(), name="calendar-holiday-remove"),
]
