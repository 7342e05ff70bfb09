"""Addresses of the queues and their items."""

from django.urls import path

from queues import view_pages, views

urlpatterns = [
    path("<slug:queue>/", views.QueueList.as_view(), name="queue"),
    path("<slug:queue>/claim-next/", views.ClaimNext.as_view(), name="queue-claim-next"),
    path("<slug:queue>/views/", view_pages.SaveView.as_view(), name="queue-view-save"),
    path("<slug:queue>/views/<int:view>/remove/", view_pages.RemoveView.as_view(), name="queue-view-remove"),
    path("<slug:queue>/<int:item_id>/", views.ItemPage.as_view(), name="item"),
    path("<slug:queue>/<int:item_id>/claim/", views.ClaimItem.as_view(), name="item-claim"),
    path("<slug:queue>/<int:item_id>/release/", views.ReleaseItem.as_view(), name="item-release"),
    path("<slug:queue>/<int:item_id>/renew/", views.RenewItem.as_view(), name="item-renew"),
    path("<slug:queue>/<int:item_id>/act/<slug:action>/", views.ActOnItem.as_view(), name="item-action"),
]
