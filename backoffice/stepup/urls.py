"""Addresses of the Codes pages."""

from django.urls import path

from backoffice.stepup import views

urlpatterns = [
    path("", views.Devices.as_view(), name="devices"),
    path("new/", views.NewDevice.as_view(), name="device-new"),
    path("codes/", views.IssueCode.as_view(), name="device-issue-code"),
    path("<int:device>/activate/", views.ActivateDevice.as_view(), name="device-activate"),
    path("<int:device>/remove/", views.RemoveDevice.as_view(), name="device-remove"),
]
