# SPDX-License-Identifier: Apache-2.0
"""One request in, one response out.

The version is negotiated, path and method become an action, the handler of the action replies in
the newest shape, and the reply is downgraded to the shape and the headers of the version.
"""

import contextlib
import dataclasses
import json
import time
import urllib.parse
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

import routes.middleware
import webob
from webob.datetime_utils import serialize_date

from placement import errors, microversions
from placement import routes as url_map
from placement.conf import ConfigOpts
from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.feed.keeper import SnapshotKeeper
from placement.http import environ_keys, microversion
from placement.http.error_response import error_response
from placement.http.microversion import Api, Rule
from placement.http.reply import JSONPieces, Reply
from placement.http.request import JSON, Request
from placement.insight.questions import Insight
from placement.policies import rules
from placement.policies.enforcer import Enforcer

VERSION_HEADER = 'openstack-api-version'


@dataclasses.dataclass(eq=False)
class Application:
    """The service as a WSGI application, inside of all middleware."""

    conf: ConfigOpts
    database: Database
    snapshots: SnapshotKeeper
    enforcer: Enforcer
    insight: Insight

    def __post_init__(self) -> None:
        self._map = URLMap(url_map.ROUTES)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer: Iterable[bytes] = self.respond(environ)(environ, start_response)
        return answer

    def respond(self, environ: WSGIEnvironment) -> webob.Response:
        """The response to one request, an error response included."""
        try:
            api = microversion.negotiated(
                microversions.APIS,
                environ.get('HTTP_OPENSTACK_API_VERSION'),
                otherwise=microversions.NEWEST if url_map.is_insight(environ) else None,
            )
        except (errors.InvalidVersion, errors.UnacceptableVersion) as error:
            return error_response(environ, error.status, str(error), **error.bounds)
        environ[environ_keys.MICROVERSION] = str(api.version)
        try:
            response = self._answer(environ, api)
        except errors.PlacementError as error:
            if error.status == 409:
                environ[environ_keys.CONFLICT] = error.code
            code = error.code if api.allows(Rule.ERROR_CODES) else None
            response = error_response(environ, error.status, str(error), code)
            if isinstance(error, errors.MethodNotAllowed) and error.allowed:
                response.headers['Allow'] = error.allowed
            if isinstance(error, errors.ServiceUnavailable) and error.retry_after is not None:
                response.headers['Retry-After'] = str(error.retry_after)
        version = f'{microversion.SERVICE_TYPE} {api.version}'
        response.headerlist.extend([(VERSION_HEADER, version), ('vary', VERSION_HEADER)])
        return response

    def _answer(self, environ: WSGIEnvironment, api: Api) -> webob.Response:
        """The response of the handler. Raises `errors.PlacementError`."""
        check_content_length(environ)
        route, urlvars = self._map.match(environ)
        environ[environ_keys.ACTION] = route.action
        context: RequestContext = environ[environ_keys.CONTEXT]
        context.attach(
            self.database,
            self.snapshots,
            self.insight,
            route.allows_replica_read,
            route.action,
        )
        request = Request(webob.Request(environ), api, urlvars, context, self.conf)
        if route.body_before_version:
            request.check_media_types(route.replies_json, sends_json=route.method != 'GET')
        handler = api.handlers.get(route.action)
        if handler is None:
            raise _not_introduced(route, api)
        if not route.body_before_version:
            request.check_media_types(route.replies_json, sends_json=route.action in api.bodies)
        self._authorise(route, request)
        question = route.question
        with self.insight.question(question) if question else contextlib.nullcontext():
            reply = handler(request)
        return rendered(api.downgraded(route.action, reply), request)

    def _authorise(self, route: url_map.Route, request: Request) -> None:
        """Raise `errors.PolicyNotAuthorised` unless the rule of the route allows the caller."""
        if route.is_public:
            return
        context, target = request.context, None
        if route.names_project:
            project_id = request.unvalidated('project_id')
            target = {'project_id': project_id, 'user_id': context.user_id}
        rule = rules.BY_ROUTE[route.method, route.path]
        self.enforcer.authorise(context, rule.name, target)


class URLMap:
    """The routes of the service, as the Routes library matches them."""

    def __init__(self, table: Iterable[url_map.Route]) -> None:
        self._routes = {(route.path, route.method): route for route in table}
        self._allowed: dict[str, list[str]] = {}
        self._mapper = routes.Mapper(controller_scan=None, register=False)
        self._mapper.minimization = False
        for route in self._routes.values():
            if route.path not in self._allowed:
                self._mapper.connect(None, route.path or '/', action=route.path)
            self._allowed.setdefault(route.path, []).append(route.method)
        self._mapper.create_regs()

    def match(self, environ: WSGIEnvironment) -> tuple[url_map.Route, dict[str, str]]:
        """The route of a request with the variables of its path.

        Raises `errors.NotFound` and `errors.MethodNotAllowed`.
        """
        try:
            path = environ.get('PATH_INFO', '').encode('latin-1').decode('utf-8')
        except UnicodeError:
            raise errors.NotFound() from None
        # Nothing that is stored has a null character, and not every database accepts one.
        if '\0' in path:
            raise errors.NotFound()
        # The regular expressions of the library overlook a newline at the end.
        match = self._mapper.match(path.replace('\n', '\0') or '/')
        if match is None:
            raise errors.NotFound()
        path = match.pop('action')
        match.pop('controller', None)
        method = environ['REQUEST_METHOD']
        if (path, method) not in self._routes:
            raise errors.MethodNotAllowed(', '.join(self._allowed[path]))
        variables = {name: value.replace('\0', '\n') for name, value in match.items()}
        return self._routes[path, method], variables


def check_content_length(environ: WSGIEnvironment) -> None:
    """Raise `errors.BadRequest` for a malformed length, or a body without media type."""
    length = environ.get('CONTENT_LENGTH')
    if not length:
        return
    try:
        expected = int(length)
    except ValueError:
        raise errors.BadRequest('content-length header must be an integer') from None
    if expected > 0 and not environ.get('CONTENT_TYPE'):
        raise errors.BadRequest('content-type header required when content-length > 0')


def _not_introduced(route: url_map.Route, api: Api) -> errors.PlacementError:
    """The error at a version that does not have the route yet."""
    if route.status_before == 400:
        return errors.TooOldForQuestion(
            version=api.version, introduced=microversions.introduced(route.action)
        )
    return errors.MethodNotAllowed() if route.status_before == 405 else errors.NotFound()


def rendered(reply: Reply, request: Request) -> webob.Response:
    """A reply as an HTTP response, with its cache headers."""
    # A list of headers, since webob looks through all of them for each one that it sets: a
    # twentieth of the time of a small request.
    headers: list[tuple[str, str]] = []
    pieces = None
    if reply.body is not None:
        is_json = isinstance(reply.body, JSONPieces)
        content = reply.body if is_json else JSONPieces([json.dumps(reply.body).encode()])
        headers = [('Content-Type', JSON), ('Content-Length', str(content.size))]
        pieces = content.pieces
    headers.extend(reply.headers)
    if reply.location is not None:
        path = urllib.parse.quote(reply.location, safe='/')
        headers.append(('Location', request.http.application_url + path))
    if reply.is_cacheable and request.api.allows(Rule.CACHE_HEADERS):
        headers.append(('cache-control', 'no-cache'))
        if not reply.omit_last_modified:
            headers.append(
                ('last-modified', serialize_date(reply.last_modified or int(time.time())))
            )
    return webob.Response(status=reply.status, headerlist=headers, app_iter=pieces)
