"""A paged list from another implementation (fastapi-pagination on FastAPI), for the tests.

Run by Scripts/peers under uvicorn as `pagespeer:app`. The list has 1,234 items; a page has 50, or what `size` says up to 100.

GET /all          the whole list as an array
GET /header       {"items", "total", …} by page number; the next page in a Link field
GET /body         the same; the next page in /links/next of the body
GET /numbers      the same; nothing names the next page
GET /offsets      {"items", "total", …} by limit and offset
"""

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from fastapi_pagination import LimitOffsetPage, Page, add_pagination, paginate
from fastapi_pagination.customization import CustomizedPage
from fastapi_pagination.links import UseHeaderLinks, UseLinks
from pydantic import BaseModel


class Item(BaseModel):
    id: int
    title: str
    score: float
    tags: list[str]


LIST = [
    Item(id=n, title=f'Sendung "{n}" – é\\\n', score=n / 7, tags=["a,b", "}{"] if n % 3 else []) for n in range(1234)
]
HeaderPage = CustomizedPage[Page, UseHeaderLinks()]
BodyPage = CustomizedPage[Page, UseLinks()]

app = FastAPI()


@app.get("/all")
def everything():
    return JSONResponse([item.model_dump(mode="json") for item in LIST])


@app.get("/header", response_model=HeaderPage[Item])
def by_header():
    return paginate(LIST)


@app.get("/body", response_model=BodyPage[Item])
def by_body():
    return paginate(LIST)


@app.get("/numbers", response_model=Page[Item])
def by_number():
    return paginate(LIST)


@app.get("/offsets", response_model=LimitOffsetPage[Item])
def by_offset():
    return paginate(LIST)


add_pagination(app)
