"""URLs of the ways in, of one's own account, conversations and the help; former addresses lead on."""

from django.urls import path

from loci_site.app.account import (
    account,
    change_password,
    connect_client,
    download_data,
    end_one,
    end_others,
    pair_browser,
    save_preferences,
)
from loci_site.app.conversations import conversation, conversations, destroy, move, remove, restore, set_tags
from loci_site.app.help import help_for, help_index, help_page
from loci_site.app.login import AcceptInvitation, LogIn, LogOut, begin, finish, home
from loci_site.app.moved import moved
from loci_site.app.notifications.pages import save_events, test_mail

app_name = "people"
urlpatterns = [
    path("", home, name="home"),
    path("login/", LogIn.as_view(), name="login"),
    path("login/oidc/", begin, name="oidc"),
    path("login/oidc/callback/", finish, name="oidc-callback"),
    path("logout/", LogOut.as_view(), name="logout"),
    path("invited/<uidb64>/<token>/", AcceptInvitation.as_view(), name="invited"),
    path("admin/help/", help_index, name="help"),
    path("admin/help/for/", help_for, name="help-for"),
    path("admin/help/<path:doc>/", help_page, name="help-page"),
    path("admin/account/", account, name="account"),
    path("admin/account/preferences/", save_preferences, name="preferences"),
    path("admin/account/data/", download_data, name="my-data"),
    path("admin/account/notifications/", save_events, name="notifications"),
    path("admin/account/notifications/test/", test_mail, name="notifications-test"),
    path("admin/account/password/", change_password, name="password"),
    path("admin/account/connect/", connect_client, name="connect-client"),
    path("admin/account/browsers/pair/", pair_browser, name="pair-browser"),
    path("admin/account/sessions/end-others/", end_others, name="end-others"),
    path("admin/account/sessions/<str:handle>/end/", end_one, name="end-session"),
    path("admin/conversations/", conversations, name="conversations"),
    path("admin/conversations/<str:id_>/", conversation, name="conversation"),
    path("admin/conversations/<str:id_>/move/", move, name="move-conversation"),
    path("admin/conversations/<str:id_>/tags/", set_tags, name="tag-conversation"),
    path("admin/conversations/<str:id_>/delete/", remove, name="delete-conversation"),
    path("admin/conversations/<str:id_>/purge/", destroy, name="purge-conversation"),
    path("admin/conversations/<str:id_>/restore/", restore, name="restore-conversation"),
    # Former addresses.
    *(
        path(f"{former}<path:rest>", moved)
        for former in ("app/", "help/", "admin/explore/", "admin/memories/link/", "admin/access/group/")
    ),
    *(path(former, moved) for former in ("app/", "help/", "admin/memories/link/", "admin/access/group/")),
]
