"""Addresses of bulk money."""

from django.urls import path

from queues.money import views

urlpatterns = [
    path("", views.Plans.as_view(), name="plans"),
    path("new/", views.CreatePlan.as_view(), name="plan-create"),
    path("<int:plan>/", views.ShowPlan.as_view(), name="plan"),
    path("<int:plan>/confirm/", views.ConfirmPlan.as_view(), name="plan-confirm"),
    path("<int:plan>/cancel/", views.CancelPlan.as_view(), name="plan-cancel"),
    path("<int:plan>/run/", views.RunPlan.as_view(), name="plan-run"),
    path("<int:plan>/halt/", views.HaltPlan.as_view(), name="plan-halt"),
]
