# SPDX-License-Identifier: Apache-2.0
"""Explanations of requests (specification: insight, "GET /insight/allocation_candidates")."""

from placement.http import candidate_query
from placement.http.querystring import unknown_names_reported
from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight import answers
from placement.insight.explain import views
from placement.policies import rules
from placement.schemas import common

# Beside the query of a search for candidates.
EXPLAIN: common.Schema = {'provider': {'type': 'string', 'minLength': 1, 'maxLength': 200}}


def explain(request: Request) -> Reply:
    """Explain why a request finds no allocation candidates, or where it does not fit."""
    request.authorise(rules.EXPLAIN)
    with request.context.insight.question('allocation_candidates'):
        query = request.validated_query('insight.explain')
        wanted = candidate_query.parse(request.api, query)
        with unknown_names_reported():
            explanation = answers.explain(request.context, wanted, query.last('provider'))
        names = answers.list_names(request.context, views.uuids_in(explanation))
    return Reply(views.explanation(explanation, names))
