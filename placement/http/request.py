# SPDX-License-Identifier: Apache-2.0
"""The request that handlers get: the caller, the path variables, the validated content."""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import webob
import webob.acceptparse

from placement import errors
from placement.context import RequestContext, quote_environ_for_log
from placement.http.microversion import Api
from placement.http.querystring import MAX_LENGTH, Query
from placement.http.searches import SearchOrigin
from placement.http.service import Service

JSON = 'application/json'

# Floats beyond this are not exact, so they do not count as integers.
LARGEST_EXACT_FLOAT = 2**53


@dataclasses.dataclass(eq=False)
class Request:
    """One request: the caller, the path variables, the query and the body."""

    http: webob.Request
    api: Api
    urlvars: Mapping[str, str]
    context: RequestContext
    service: Service
    # The body as sent, once it is validated.
    _valid_text: bytes = dataclasses.field(default=b'null', init=False)

    @property
    def mount_point(self) -> str:
        """The path under which the application is mounted; links begin with it."""
        return self.http.script_name

    def origin(self) -> SearchOrigin:
        """The origin of a search by this request, for the log."""
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
        """Check the Accept header if the reply is JSON, and the media type if a body is read.

        :raises errors.NotAcceptable: the client does not accept JSON
        :raises errors.UnsupportedMediaType: the body is not JSON
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
        """The body, validated at its microversion, in the shape of the newest microversion.

        Specification: http, "Request content".

        :raises errors.MalformedJSON: the body is not JSON
        :raises errors.InvalidBody: the body does not match the schema
        """
        try:
            # Not `body`, which puts large bodies into a temporary file.
            text = self.http.body_file.read()
        except OSError as error:
            raise errors.MalformedJSON(reason=error) from error
        body = parse_json(text)
        self.check_by_schema(action, body)
        self._valid_text = text
        return self.api.upgraded(action, self.api.bodies[action].lowered(body))

    def body_as_sent(self) -> Any:
        """The validated body in the shape and with the numbers that the client sent.

        8.0 is a float here, but an integer in `validated_body`.
        """
        return json.loads(self._valid_text)

    def check_by_schema(self, action: str, body: Any) -> None:
        """Check a body against the schema of an action.

        :raises errors.InvalidBody: the body does not match the schema
        """
        error = self.api.bodies[action].find_error(body)
        if error is not None:
            raise errors.InvalidBody(reason=error)

    def unvalidated(self, name: str) -> str | None:
        """The last value of a query parameter, unvalidated; None if missing or undecodable."""
        if len(self.http.query_string) > MAX_LENGTH:
            return None
        try:
            value: str | None = dict(self.http.GET.items()).get(name)
        except UnicodeDecodeError:
            return None
        return value

    def validated_query(self, action: str) -> Query:
        """The parameters of the query string; the schema checks the last value of each.

        Specification: http, "Request content".

        :raises errors.InvalidQuery: a parameter is unknown, repeated or malformed
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
    """The query with these parameters, validated for an action at a microversion.

    :raises errors.InvalidQuery: a query parameter is invalid
    """
    query, validator = Query(parameters), api.queries[action]
    error = validator.find_error(query.last_values())
    if error is not None:
        raise errors.InvalidQuery(reason=error)
    if any('\0' in value for _name, value in query):
        raise errors.InvalidQuery(reason='a null character is not allowed')
    return Query((name, validator.lowered({name: value})[name]) for name, value in query)


def parse_json(body: bytes) -> Any:
    """The value of a JSON text. Integers written as 10.0 become 10.

    :raises errors.MalformedJSON: the body is not JSON, or holds text that no database stores:
        half of a surrogate pair, or the null character
    """
    try:
        value = json.loads(
            body.decode('utf-8'), parse_float=_parse_float, parse_constant=_refuse_constant
        )
        # Only an escape can encode characters that UTF-8 cannot.
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
    """Check the strings of a JSON value, at any depth.

    :raises ValueError: a string cannot be stored
    """
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
