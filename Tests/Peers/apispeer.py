"""Paged lists of real API frameworks, for the tests of paging rules.

Run by Scripts/peers under uvicorn as `apispeer:app`. Every list has the same 37 items; a page has 10 at most.

GET  /drf/numbers      Django REST framework by page number: next, results, count
GET  /drf/offsets      the same by limit and offset
GET  /drf/cursors      the same by cursor: next and results
GET  /jsonapi/items    JSON:API (djangorestframework-jsonapi): links.next and data
GET  /fastapi/numbers  fastapi-pagination by number: nothing names the next page
GET  /fastapi/links    the same with links.next
GET  /lade/items.json  Datasette: next_url and rows
POST /graphql          strawberry: a connection with pageInfo
"""

import contextlib
import os
import sqlite3

import django
from django.conf import settings

COUNT = 37
SIZE = 10

DATABASE = os.environ["LADE_APIS_DATABASE"]
with contextlib.suppress(FileNotFoundError):
    os.unlink(DATABASE)
with sqlite3.connect(DATABASE) as connection:
    connection.execute("create table items (id integer primary key, title text)")
    connection.executemany("insert into items values (?, ?)", [(n, f"item {n}") for n in range(1, COUNT + 1)])
connection.close()

settings.configure(
    ALLOWED_HOSTS=["*"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DATABASE}},
    INSTALLED_APPS=["rest_framework", "rest_framework_json_api"],
    REST_FRAMEWORK={"UNAUTHENTICATED_USER": None, "DEFAULT_AUTHENTICATION_CLASSES": []},
    ROOT_URLCONF=__name__,
    SECRET_KEY="lade",
)
django.setup()

from django.core.asgi import get_asgi_application  # noqa: E402
from django.db import models  # noqa: E402
from django.urls import include, path  # noqa: E402
from rest_framework import generics, pagination, renderers, routers, serializers, viewsets  # noqa: E402
from rest_framework_json_api import pagination as json_api_pagination  # noqa: E402
from rest_framework_json_api import renderers as json_api_renderers  # noqa: E402
from rest_framework_json_api import serializers as json_api_serializers  # noqa: E402


class Item(models.Model):
    title = models.TextField()

    class Meta:
        app_label = "apispeer"
        db_table = "items"
        managed = False


class ItemSerializer(serializers.ModelSerializer):
    class Meta:
        model = Item
        fields = ["id", "title"]


class Numbers(pagination.PageNumberPagination):
    page_size = SIZE


class Offsets(pagination.LimitOffsetPagination):
    default_limit = SIZE


class Cursors(pagination.CursorPagination):
    page_size = SIZE
    ordering = "id"


def listing(kind):
    class Items(generics.ListAPIView):
        queryset = Item.objects.order_by("id")
        serializer_class = ItemSerializer
        pagination_class = kind
        renderer_classes = [renderers.JSONRenderer]

    return Items.as_view()


class JSONAPISerializer(json_api_serializers.ModelSerializer):
    class Meta:
        model = Item
        fields = ["id", "title"]


class JSONAPIPages(json_api_pagination.JsonApiPageNumberPagination):
    page_size = SIZE


class JSONAPIItems(viewsets.ReadOnlyModelViewSet):
    queryset = Item.objects.order_by("id")
    serializer_class = JSONAPISerializer
    pagination_class = JSONAPIPages
    renderer_classes = [json_api_renderers.JSONRenderer]


router = routers.SimpleRouter(trailing_slash=False)
router.register("jsonapi/items", JSONAPIItems, basename="items")
urlpatterns = [
    path("drf/numbers", listing(Numbers)),
    path("drf/offsets", listing(Offsets)),
    path("drf/cursors", listing(Cursors)),
    path("", include(router.urls)),
]
django_app = get_asgi_application()

import strawberry  # noqa: E402
from datasette.app import Datasette  # noqa: E402
from fastapi import FastAPI  # noqa: E402
from fastapi_pagination import Page, add_pagination, paginate  # noqa: E402
from fastapi_pagination.customization import CustomizedPage, UseParamsFields  # noqa: E402
from fastapi_pagination.links import UseLinks  # noqa: E402
from pydantic import BaseModel  # noqa: E402
from strawberry.asgi import GraphQL  # noqa: E402


class Row(BaseModel):
    id: int
    title: str


ROWS = [Row(id=n, title=f"item {n}") for n in range(1, COUNT + 1)]
TenPage = CustomizedPage[Page, UseParamsFields(size=SIZE)]
LinksPage = CustomizedPage[Page, UseLinks(), UseParamsFields(size=SIZE)]
fastapi_app = FastAPI()


@fastapi_app.get("/fastapi/numbers", response_model=TenPage[Row])
def by_number():
    return paginate(ROWS)


@fastapi_app.get("/fastapi/links", response_model=LinksPage[Row])
def by_link():
    return paginate(ROWS)


add_pagination(fastapi_app)


@strawberry.type
class Node:
    id: int
    title: str


@strawberry.type
class PageInfo:
    end_cursor: str | None
    has_next_page: bool


@strawberry.type
class Connection:
    nodes: list[Node]
    page_info: PageInfo
    total_count: int


@strawberry.type
class Query:
    @strawberry.field
    def items(self, after: str | None = None) -> Connection:
        start = int(after or 0)
        nodes = [Node(id=row.id, title=row.title) for row in ROWS[start:start + SIZE]]
        end = start + len(nodes)
        # As in many services, the last page has a cursor too.
        return Connection(nodes=nodes, page_info=PageInfo(end_cursor=str(end), has_next_page=end < COUNT), total_count=COUNT)


graphql_app = GraphQL(strawberry.Schema(Query))
datasette_app = Datasette([DATABASE], settings={"default_page_size": SIZE}).app()


async def app(scope, receive, send):
    """Gives each path to its framework."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    place = scope["path"].split("/")[1]
    chosen = {"fastapi": fastapi_app, "graphql": graphql_app, "lade": datasette_app}.get(place, django_app)
    await chosen(scope, receive, send)
