"""An OAuth 2 server (Authlib on Flask) and a resource that requires its tokens, for the tests.

Run by Scripts/peers under gunicorn as `oauthpeer:app`. Any name is a client's, so that each test has one of its own; its
secret is "secret". A name that ends in a point and a number (`ann.600`) gets tokens for so many seconds, any other for an
hour.

POST /token                      grants client_credentials, password (user "ann", "wonderland"), refresh_token (replaced
                                 by each use: the old one is refused)
GET  /resource                   200 with a token that holds, 401 otherwise
     ?barrier=NAME&parties=100   holds every 401 back until so many are there
POST /expire?client=NAME         ends every access token of a client
GET  /stats?client=NAME          {"tokens": …, "refreshes": …, "refused": …, "served": …}
"""

import collections
import os
import secrets
import threading
import time

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from flask import Flask, jsonify, request

METHODS = ["client_secret_basic", "client_secret_post", "none"]

app = Flask(__name__)
lock = threading.Lock()
access, refreshing, barriers = {}, {}, {}
counts = collections.defaultdict(collections.Counter)


class Client(ClientMixin):
    def __init__(self, name):
        self.name = name

    def get_client_id(self):
        return self.name

    def get_default_redirect_uri(self):
        return None

    def get_allowed_scope(self, scope):
        return scope or ""

    def check_redirect_uri(self, uri):
        return False

    def check_client_secret(self, secret):
        return secrets.compare_digest(secret, "secret")

    def check_endpoint_auth_method(self, method, endpoint):
        return method in METHODS

    def check_response_type(self, kind):
        return False

    def check_grant_type(self, kind):
        return True


class Token(TokenMixin):
    def __init__(self, fields, client):
        self.fields, self.client = fields, client
        self.end = time.monotonic() + fields["expires_in"]
        self.is_revoked = False

    def check_client(self, client):
        return client.name == self.client

    def get_scope(self):
        return self.fields.get("scope", "")

    def get_expires_in(self):
        return self.fields["expires_in"]

    def is_expired(self):
        return time.monotonic() >= self.end

    def get_user(self):
        return "ann"

    def get_client(self):
        return Client(self.client)


class Own(grants.ClientCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS


class Password(grants.ResourceOwnerPasswordCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def authenticate_user(self, username, password):
        return username if (username, password) == ("ann", "wonderland") else None


class Refresh(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, text):
        with lock:
            token = refreshing.get(text)
            # Removed immediately, so that of two requests with the same token only one succeeds.
            if token is None or token.is_revoked:
                return None
            token.is_revoked = True
            counts[token.client]["refreshes"] += 1
            return token

    def authenticate_user(self, token):
        return token.get_user()

    def revoke_old_credential(self, token):
        pass


def save(fields, grant):
    token = Token(fields, grant.client.name)
    with lock:
        access[fields["access_token"]] = token
        if "refresh_token" in fields:
            refreshing[fields["refresh_token"]] = token
        counts[token.client]["tokens"] += 1


def life(client, grant):
    name, _, seconds = client.name.rpartition(".")
    return int(seconds) if name and seconds.isdigit() else 3600


server = AuthorizationServer(app, query_client=Client, save_token=save)
server.register_token_generator(
    "default",
    BearerTokenGenerator(lambda **_: secrets.token_urlsafe(), lambda **_: secrets.token_urlsafe(), life),
)
for grant in (Own, Password, Refresh):
    server.register_grant(grant)


@app.post("/token")
def issue():
    return server.create_token_response()


@app.get("/resource")
def resource():
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    with lock:
        token = access.get(text) if kind == "Bearer" else None
        holds = token is not None and not token.is_expired()
        counts[token.client if token else ""]["served" if holds else "refused"] += 1
    if holds:
        return jsonify(client=token.client)
    if "barrier" in request.args:
        with lock:
            parties = int(request.args["parties"])
            barrier = barriers.setdefault(request.args["barrier"], threading.Barrier(parties))
        try:
            barrier.wait(20)
        except threading.BrokenBarrierError:
            return "not so many came", 500
    return "a token that holds, please", 401, {"WWW-Authenticate": 'Bearer error="invalid_token"'}


@app.post("/expire")
def expire():
    with lock:
        for token in access.values():
            if token.client == request.args["client"]:
                token.end = 0
    return "", 204


@app.get("/stats")
def stats():
    with lock:
        found = counts[request.args["client"]]
        return jsonify({name: found[name] for name in ("tokens", "refreshes", "refused", "served")})
