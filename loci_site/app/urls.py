"""URLs of the workspace."""

from django.urls import path

from loci_site.app.edit import correct, flag, store_new
from loci_site.app.login import LogIn, LogOut, home
from loci_site.app.read import list_own, read, search

app_name = "people"
urlpatterns = [
    path("", home, name="home"),
    path("login/", LogIn.as_view(), name="login"),
    path("logout/", LogOut.as_view(), name="logout"),
    path("app/", search, name="search"),
    path("app/mine/", list_own, name="mine"),
    path("app/new/", store_new, name="new"),
    path("app/memories/<str:id_>/", read, name="memory"),
    path("app/memories/<str:id_>/correct/", correct, name="correct"),
    path("app/memories/<str:id_>/flag/", flag, name="flag"),
]
