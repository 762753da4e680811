# SPDX-License-Identifier: Apache-2.0
"""One request in, one response out.

The version is negotiated, path and method are resolved to an action, its handler replies in the
newest shape, and the reply is downgraded to the shape and the headers of the version.
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

from placement import errors, policies
from placement import routes as url_map
from placement.context import RequestContext
from placement.http import environ_keys, microversion, spelling
from placement.http.error_response import error_response
from placement.http.microversion import Api, Rule
from placement.http.reply import Handler, JSONPieces, Reply
from placement.http.request import JSON, Request
from placement.http.route import AddedRoute, Route
from placement.http.service import Service
from placement.policies.enforcer import Enforcer
from placement.routes import Surface

VERSION_HEADER = 'openstack-api-version'


@dataclasses.dataclass(eq=False)
class Application:
    """The service as a WSGI application, without middleware."""

    service: Service
    enforcer: Enforcer
    surface: Surface

    def __post_init__(self) -> None:
        self._map = URLMap(self.surface.routes)
        self._rules = policies.rules_by_route()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer: Iterable[bytes] = self.respond(environ)(environ, start_response)
        return answer

    def respond(self, environ: WSGIEnvironment) -> webob.Response:
        """The response to one request; errors become error responses."""
        try:
            header = environ.get('HTTP_OPENSTACK_API_VERSION')
            api = self.surface.negotiated(header, environ.get('PATH_INFO', ''))
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
            response.headers.update(error.headers)
        version = f'{microversion.SERVICE_TYPE} {api.version}'
        response.headerlist.extend([(VERSION_HEADER, version), ('vary', VERSION_HEADER)])
        return response

    def _answer(self, environ: WSGIEnvironment, api: Api) -> webob.Response:
        """The response of the handler.

        :raises errors.PlacementError: the answer is an error
        """
        check_content_length(environ)
        route, urlvars = self._map.match(environ)
        environ[environ_keys.ACTION] = route.action
        context: RequestContext = environ[environ_keys.CONTEXT]
        sinks = self.service.sinks(context, route.action)
        context.attach(self.service.database, route.allows_replica_read, sinks)
        request = Request(webob.Request(environ), api, urlvars, context, self.service)
        if route.body_before_version:
            request.check_media_types(route.replies_json, sends_json=route.method != 'GET')
        handler = api.handlers.get(route.action)
        if handler is None:
            raise self._not_introduced(route, api)
        if not route.body_before_version:
            request.check_media_types(route.replies_json, sends_json=route.action in api.bodies)
        self._authorise(route, request)
        guard = route.guard if isinstance(route, AddedRoute) else contextlib.nullcontext
        with guard(self.service):
            reply = self._reply(route, handler, request)
        return rendered(api.downgraded(route.action, reply), request)

    def _reply(self, route: Route, handler: Handler, request: Request) -> Reply:
        """The reply of a handler.

        :raises errors.PlacementError: the answer is an error
        """
        return handler(request)

    def _authorise(self, route: Route, request: Request) -> None:
        """Raise `errors.PolicyNotAuthorised` unless the rule of the route allows the caller."""
        if route.is_public:
            return
        context = request.context
        project_id = context.project_id
        if route.names_project:
            project_id = request.unvalidated('project_id')
        rule = self._rules[route.method, route.path]
        self.enforcer.authorise(context, rule.name, project_id)

    def _not_introduced(self, route: Route, api: Api) -> errors.PlacementError:
        """The error at versions older than the route."""
        if route.status_before == 400:
            introduced = self.surface.introduced(route.action)
            return errors.TooOldForQuestion(version=api.version, introduced=introduced)
        return errors.MethodNotAllowed() if route.status_before == 405 else errors.NotFound()


class URLMap:
    """The routes of the service, as the Routes library matches them."""

    def __init__(self, table: Iterable[Route]) -> None:
        self._routes = {(route.path, route.method): route for route in table}
        self._allowed: dict[str, list[str]] = {}
        self._mapper = routes.Mapper(controller_scan=None, register=False)
        self._mapper.minimization = False
        for route in self._routes.values():
            if route.path not in self._allowed:
                self._mapper.connect(None, route.path or '/', action=route.path)
            self._allowed.setdefault(route.path, []).append(route.method)
        self._mapper.create_regs()

    def match(self, environ: WSGIEnvironment) -> tuple[Route, dict[str, str]]:
        """The route of a request with the variables of its path.

        :raises errors.NotFound: no such path
        :raises errors.MethodNotAllowed: the path has no such method
        """
        try:
            path = environ.get('PATH_INFO', '').encode('latin-1').decode('utf-8')
        except UnicodeError:
            raise errors.NotFound() from None
        # No stored name has a null character, and some databases do not accept one.
        if '\0' in path:
            raise errors.NotFound()
        # The regular expressions of the library ignore a final newline.
        match = self._mapper.match(path.replace('\n', '\0') or '/')
        if match is None:
            raise errors.NotFound()
        path = match.pop('action')
        match.pop('controller', None)
        method = environ['REQUEST_METHOD']
        if (path, method) not in self._routes:
            raise errors.MethodNotAllowed(', '.join(self._allowed[path]))
        variables = {name: value.replace('\0', '\n') for name, value in match.items()}
        for name in variables.keys() & url_map.UUIDS:
            variables[name] = spelling.lowered(variables[name])
        return self._routes[path, method], variables


def check_content_length(environ: WSGIEnvironment) -> None:
    """Raise `errors.BadRequest` for a malformed length, or a body without media type."""
    length = environ.get('CONTENT_LENGTH')
    if not length:
        return
    if not (length.isascii() and length.isdigit()):
        raise errors.BadRequest('content-length header must be an integer')
    if length.strip('0') and not environ.get('CONTENT_TYPE'):
        raise errors.BadRequest('content-type header required when content-length > 0')


def rendered(reply: Reply, request: Request) -> webob.Response:
    """A reply as an HTTP response, with its cache headers."""
    # A list of headers, because webob searches all of them for each one that it sets, which is
    # noticeable in small requests.
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
