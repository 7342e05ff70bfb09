"""Addresses."""

from django.urls import path

from reports import views

urlpatterns = [
    path("", views.ReportList.as_view(), name="reports"),
    path("new/<str:name>/", views.ReportNew.as_view(), name="report-request"),
    path("<int:request_id>/", views.ReportDetail.as_view(), name="report"),
    path("<int:request_id>/progress/", views.ReportProgress.as_view(), name="report-progress"),
    path("<int:request_id>/cancel/", views.ReportCancel.as_view(), name="report-cancel"),
    path("<int:request_id>/download/", views.ReportDownload.as_view(), name="report-download"),
    path("<int:request_id>/revoke/", views.ReportRevoke.as_view(), name="report-revoke"),
]
