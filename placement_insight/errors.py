# SPDX-License-Identifier: Apache-2.0
"""Errors of questions below `/insight`, in addition to those of the API."""

from placement.errors import Conflict, Gone, NotFound, ServiceUnavailable


class InsightOff(NotFound):
    """The operator has switched this question off."""

    message = 'This is switched off: {reason}.'


class InsightBusy(ServiceUnavailable):
    """The process is answering another question; it answers one at a time."""

    message = 'Another question below /insight is being answered; please try again.'


class NodeBehind(ServiceUnavailable):
    """The database node lags behind the one that the previous page was read from."""

    message = 'The database has not applied yet what the page before showed; please try again.'


class MomentGone(Gone):
    """The copy of the cloud that the previous page was read from no longer exists."""

    message = 'What the page before showed is gone: begin with the first page again.'


class PromiseNotFound(NotFound):
    message = 'No such promise {name}.'


class TooManyPromises(Conflict):
    message = 'There are {count} promises, as many as there may be.'
