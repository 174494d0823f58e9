"""The shape of answers to agents: wire messages as JSON, failures as problems."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from agent import protocol
from controlplane.base.failures import as_problem
from controlplane.base.problems import Problem, problem_response

View = Callable[..., HttpResponse]
AsyncView = Callable[..., Coroutine[Any, Any, HttpResponse]]


def message(body: msgspec.Struct) -> HttpResponse:
    """One wire message."""
    return HttpResponse(protocol.encode(body), content_type="application/json")


def agent_view(method: str) -> Callable[[View], View]:
    """A synchronous view for one method; agents carry no cookies, so there is nothing to forge."""

    def decorate(view: View) -> View:
        @csrf_exempt
        @functools.wraps(view)
        def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
            try:
                _check_method(request, method)
                return view(request, *args, **kwargs)
            except Exception as error:
                return _answer(error, request)

        return guarded

    return decorate


def async_agent_view(method: str) -> Callable[[AsyncView], AsyncView]:
    """An asynchronous view for one method."""

    def decorate(view: AsyncView) -> AsyncView:
        @csrf_exempt
        @functools.wraps(view)
        async def guarded(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
            try:
                _check_method(request, method)
                return await view(request, *args, **kwargs)
            except Exception as error:
                return _answer(error, request)

        return guarded

    return decorate


def _check_method(request: HttpRequest, method: str) -> None:
    if request.method != method:
        raise Problem(405, "method-not-allowed", params={"method": request.method}, headers={"Allow": method})


def _answer(error: Exception, request: HttpRequest) -> HttpResponse:
    problem = as_problem(error)
    if problem is None:
        raise error
    return problem_response(problem, request)
