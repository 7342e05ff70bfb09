"""Addresses of the settings."""

from django.urls import path

from backoffice.livesettings import views

urlpatterns = [path("", views.Settings.as_view(), name="settings")]
