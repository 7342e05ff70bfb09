"""Addresses of the queues and their items."""

from django.urls import path

from queues import away_page, bulk_views, item_views, overview_page, score_views, view_pages, views

urlpatterns = [
    path("rules/<str:rule>/", score_views.RulePage.as_view(), name="rule"),
    path("people/away/", away_page.AwayPage.as_view(), name="queue-away"),
    path("<slug:queue>/", views.QueueList.as_view(), name="queue"),
    path("<slug:queue>/claim-next/", views.ClaimNext.as_view(), name="queue-claim-next"),
    path("<slug:queue>/overview/", overview_page.QueueOverview.as_view(), name="queue-overview"),
    path("<slug:queue>/views/", view_pages.SaveView.as_view(), name="queue-view-save"),
    path("<slug:queue>/views/<int:view>/remove/", view_pages.RemoveView.as_view(), name="queue-view-remove"),
    path("<slug:queue>/bulk/", bulk_views.QueueBulk.as_view(), name="queue-bulk"),
    path("<slug:queue>/bulk/<int:run>/", bulk_views.BulkRunPage.as_view(), name="bulk-run"),
    path("<slug:queue>/bulk/<int:run>/start/", bulk_views.StartBulkRun.as_view(), name="bulk-start"),
    path("<slug:queue>/bulk/<int:run>/halt/", bulk_views.ChangeBulkRun.as_view(act="halt"), name="bulk-halt"),
    path("<slug:queue>/bulk/<int:run>/go-on/", bulk_views.ChangeBulkRun.as_view(act="go-on"), name="bulk-go-on"),
    path("<slug:queue>/<int:item_id>/", views.ItemPage.as_view(), name="item"),
    path("<slug:queue>/<int:item_id>/claim/", views.ClaimItem.as_view(), name="item-claim"),
    path("<slug:queue>/<int:item_id>/release/", views.ReleaseItem.as_view(), name="item-release"),
    path("<slug:queue>/<int:item_id>/renew/", views.RenewItem.as_view(), name="item-renew"),
    path("<slug:queue>/<int:item_id>/skip/", item_views.SkipItem.as_view(), name="item-skip"),
    path("<slug:queue>/<int:item_id>/snooze/", item_views.SnoozeItem.as_view(), name="item-snooze"),
    path("<slug:queue>/<int:item_id>/wake/", item_views.WakeItem.as_view(), name="item-wake"),
    path("<slug:queue>/<int:item_id>/hand-over/", item_views.HandItem.as_view(), name="item-hand"),
    path("<slug:queue>/<int:item_id>/move/", item_views.MoveItem.as_view(), name="item-move"),
    path("<slug:queue>/<int:item_id>/free/", item_views.FreeItem.as_view(), name="item-free"),
    path("<slug:queue>/<int:item_id>/undo/", item_views.UndoItem.as_view(), name="item-undo"),
    path("<slug:queue>/<int:item_id>/reopen/", item_views.ReopenItem.as_view(), name="item-reopen"),
    path("<slug:queue>/<int:item_id>/note/", item_views.NoteItem.as_view(), name="item-note"),
    path("<slug:queue>/<int:item_id>/override/", score_views.OverrideScore.as_view(), name="item-override"),
    path(
        "<slug:queue>/<int:item_id>/override/remove/", score_views.RemoveOverride.as_view(), name="item-override-remove"
    ),
    path("<slug:queue>/<int:item_id>/challenge/", score_views.ChallengeInput.as_view(), name="item-challenge"),
    path("<slug:queue>/<int:item_id>/act/<slug:action>/", views.ActOnItem.as_view(), name="item-action"),
]
