# SPDX-License-Identifier: Apache-2.0
"""Requests as handlers see them: the caller, the path variables, the checked content."""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import webob
import webob.acceptparse

from placement import errors
from placement.conf import ConfigOpts
from placement.context import RequestContext, quote_environ_for_log
from placement.http.microversion import Api
from placement.http.querystring import MAX_LENGTH, Query
from placement.insight.searches import SearchOrigin

JSON = 'application/json'

# Floats beyond this are not exact, so that they are no integers that anyone could have meant.
LARGEST_EXACT_FLOAT = 2**53


@dataclasses.dataclass(eq=False)
class Request:
    """One request: its identity, its path variables, and what it brings."""

    http: webob.Request
    api: Api
    urlvars: Mapping[str, str]
    context: RequestContext
    conf: ConfigOpts
    _valid_text: bytes = dataclasses.field(default=b'null', init=False)

    @property
    def mount_point(self) -> str:
        """The path under which the application is mounted, to which links are relative."""
        return self.http.script_name

    def origin(self) -> SearchOrigin:
        """Where this request comes from, for the log."""
        environ = self.http.environ
        path = quote_environ_for_log(environ.get('SCRIPT_NAME', '') + environ['PATH_INFO'])
        query = quote_environ_for_log(self.http.query_string)
        return SearchOrigin(
            f'{self.http.method} {path}?{query}',
            str(self.api.version),
            self.context.request_id,
            self.context.global_request_id,
        )

    def check_media_types(self, replies_json: bool, sends_json: bool) -> None:
        """Check the Accept header of a reply in JSON, and the media type of a body that is read.

        Raises `errors.NotAcceptable` and `errors.UnsupportedMediaType`.
        """
        if replies_json:
            accept = webob.acceptparse.create_accept_header(self.http.environ.get('HTTP_ACCEPT'))
            if not accept.acceptable_offers([JSON]):
                raise errors.NotAcceptable()
        if sends_json:
            media_type = self.http.headers.get('content-type', '').partition(';')[0].strip()
            if media_type != JSON:
                raise errors.UnsupportedMediaType(media_type=media_type or None)

    def validated_body(self, action: str) -> Any:
        """The body, checked by the schema of its version and brought to the newest shape.

        Raises `errors.MalformedJSON` and `errors.InvalidBody` (specification: http, "Request
        content").
        """
        try:
            # Not `body`, which puts what is larger than a few pages into a temporary file.
            text = self.http.body_file.read()
        except OSError as error:
            raise errors.MalformedJSON(reason=error) from error
        body = parse_json(text)
        self.check_by_schema(action, body)
        self._valid_text = text
        return self.api.upgraded(action, body)

    def body_as_sent(self) -> Any:
        """The body that was validated before, in the shape and with the numbers of the client.

        8.0 is a float here, which handlers get as an integer from `validated_body`.
        """
        return json.loads(self._valid_text)

    def check_by_schema(self, action: str, body: Any) -> None:
        """Raise `errors.InvalidBody` for what the schema of an action does not allow."""
        error = self.api.bodies[action].find_error(body)
        if error is not None:
            raise errors.InvalidBody(reason=error)

    def unvalidated(self, name: str) -> str | None:
        """The last value of a query parameter before anything was checked."""
        if len(self.http.query_string) > MAX_LENGTH:
            return None
        try:
            value: str | None = dict(self.http.GET.items()).get(name)
        except UnicodeDecodeError:
            return None
        return value

    def validated_query(self, action: str) -> Query:
        """The query string, the last value of each parameter checked by the schema.

        Raises `errors.InvalidQuery` (specification: http, "Request content").
        """
        text = self.http.query_string
        if len(text) > MAX_LENGTH:
            raise errors.InvalidQuery(
                reason=f'the query string has {len(text)} characters, more than {MAX_LENGTH}'
            )
        try:
            parameters = list(self.http.GET.items())
        except UnicodeDecodeError as undecodable:
            raise errors.InvalidQuery(reason=undecodable) from undecodable
        return checked_query(self.api, action, parameters)


def checked_query(api: Api, action: str, parameters: Iterable[tuple[str, str]]) -> Query:
    """The query with some parameters, checked as that of an action at a microversion.

    Raises `errors.InvalidQuery`.
    """
    query = Query(parameters)
    error = api.queries[action].find_error(query.last_values())
    if error is not None:
        raise errors.InvalidQuery(reason=error)
    if any('\0' in value for _name, value in query):
        raise errors.InvalidQuery(reason='a null character is not allowed')
    return query


def parse_json(body: bytes) -> Any:
    """The value of a JSON text. Integers written as 10.0 become 10.

    Raises `errors.MalformedJSON`, also for what JSON allows but no database can hold: characters
    that are half of a pair, and the null character.
    """
    try:
        value = json.loads(
            body.decode('utf-8'), parse_float=_parse_float, parse_constant=_refuse_constant
        )
        # Only an escape can bring in what UTF-8 has no bytes for.
        if b'\\u' in body:
            _check_characters(value)
    except (ValueError, RecursionError) as error:
        raise errors.MalformedJSON(reason=error) from error
    return value


def _parse_float(text: str) -> float | int:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f'{text[:20]} is out of range')
    if number.is_integer() and abs(number) < LARGEST_EXACT_FLOAT:
        return int(number)
    return number


def _refuse_constant(text: str) -> None:
    raise ValueError(f'{text} is not a JSON value')


def _check_characters(value: Any) -> None:
    """Raise ValueError for a string that cannot be stored, however deep it is."""
    remaining = [value]
    while remaining:
        part = remaining.pop()
        if isinstance(part, str):
            part.encode('utf-8')
            if '\0' in part:
                raise ValueError('a null character is not allowed')
        elif isinstance(part, dict):
            remaining.extend(part)
            remaining.extend(part.values())
        elif isinstance(part, list):
            remaining.extend(part)
