"""URLs of the workspace."""

from django.urls import path

from loci_site.app.account import (
    account,
    change_password,
    connect_client,
    download_data,
    end_one,
    end_others,
    new_token,
    pair_browser,
    revoke,
    save_preferences,
)
from loci_site.app.conversations import conversation, conversations, destroy, move, remove, restore, set_tags
from loci_site.app.edit import correct, flag, store_new
from loci_site.app.help import help_for, help_index, help_page
from loci_site.app.login import AcceptInvitation, LogIn, LogOut, begin, finish, home
from loci_site.app.notifications.pages import save_events, test_mail
from loci_site.app.read import list_own, read, search

app_name = "people"
urlpatterns = [
    path("", home, name="home"),
    path("login/", LogIn.as_view(), name="login"),
    path("login/oidc/", begin, name="oidc"),
    path("login/oidc/callback/", finish, name="oidc-callback"),
    path("logout/", LogOut.as_view(), name="logout"),
    path("invited/<uidb64>/<token>/", AcceptInvitation.as_view(), name="invited"),
    path("help/", help_index, name="help"),
    path("help/for/", help_for, name="help-for"),
    path("help/<path:doc>/", help_page, name="help-page"),
    path("app/", search, name="search"),
    path("app/mine/", list_own, name="mine"),
    path("app/new/", store_new, name="new"),
    path("app/account/", account, name="account"),
    path("app/account/preferences/", save_preferences, name="preferences"),
    path("app/account/data/", download_data, name="my-data"),
    path("app/account/notifications/", save_events, name="notifications"),
    path("app/account/notifications/test/", test_mail, name="notifications-test"),
    path("app/account/password/", change_password, name="password"),
    path("app/account/connect/", connect_client, name="connect-client"),
    path("app/account/tokens/new/", new_token, name="new-token"),
    path("app/account/browsers/pair/", pair_browser, name="pair-browser"),
    path("app/account/tokens/<uuid:id_>/revoke/", revoke, name="revoke-token"),
    path("app/account/sessions/end-others/", end_others, name="end-others"),
    path("app/account/sessions/<str:handle>/end/", end_one, name="end-session"),
    path("app/conversations/", conversations, name="conversations"),
    path("app/conversations/<str:id_>/", conversation, name="conversation"),
    path("app/conversations/<str:id_>/move/", move, name="move-conversation"),
    path("app/conversations/<str:id_>/tags/", set_tags, name="tag-conversation"),
    path("app/conversations/<str:id_>/delete/", remove, name="delete-conversation"),
    path("app/conversations/<str:id_>/purge/", destroy, name="purge-conversation"),
    path("app/conversations/<str:id_>/restore/", restore, name="restore-conversation"),
    path("app/memories/<str:id_>/", read, name="memory"),
    path("app/memories/<str:id_>/correct/", correct, name="correct"),
    path("app/memories/<str:id_>/flag/", flag, name="flag"),
]
