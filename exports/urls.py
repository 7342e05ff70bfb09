"""Addresses."""

from django.urls import path

from exports import views

urlpatterns = [
    path("", views.ExportList.as_view(), name="exports"),
    path("new/<str:name>/", views.ExportNew.as_view(), name="export-request"),
    path("<int:request_id>/", views.ExportDetail.as_view(), name="export"),
    path("<int:request_id>/progress/", views.ExportProgress.as_view(), name="export-progress"),
    path("<int:request_id>/cancel/", views.ExportCancel.as_view(), name="export-cancel"),
    path("<int:request_id>/download/", views.ExportDownload.as_view(), name="export-download"),
    path("<int:request_id>/revoke/", views.ExportRevoke.as_view(), name="export-revoke"),
]
