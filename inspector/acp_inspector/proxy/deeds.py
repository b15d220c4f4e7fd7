"""What observers may do to the traffic of a running proxy, as the control socket asks for it.

Bytes travel as `text`, or as `b64` where they are no text.

| `do`                             | with                                              |
|----------------------------------|---------------------------------------------------|
| `state`                          |                                                   |
| `break`                          | `filter`; returns the breakpoint's `id`           |
| `clear`                          | `id` of a breakpoint                              |
| `pause`, `resume`, `release_all` |                                                   |
| `release`, `discard`             | `id` of a hold                                    |
| `edit`                           | `id`, `text` or `b64`, `force`                    |
| `duplicate`                      | `id`, `times`                                     |
| `delay`                          | `id`, `seconds`                                   |
| `answer`                         | `id`, `result` or `error`                         |
| `inject`                         | `from`, `text` or `b64`, `force`, `keep_id`,      |
|                                  | `wait`; returns the `id` it got, and the `answer` |
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from acp_inspector.proxy.interference import Interference

if TYPE_CHECKING:
    from acp_inspector.intercept.interceptor import Interceptor
    from acp_protocol.framing import Side

Question: TypeAlias = Mapping[str, Any]

ANSWER_LIMIT: Final = 60.0
"""Seconds that somebody may wait for the answer to what was injected."""


def deeds_on(interference: Interference) -> Mapping[str, Callable[[Question], Any]]:
    """Return the deeds by name."""

    def of(deed: Callable[[Interceptor, Question], Any]) -> Callable[[Question], Any]:
        return lambda question: deed(interference.get(), question)

    return {
        # Looking at the state is no reason to begin.
        "state": lambda question: _state(interference.interceptor),
        "break": of(lambda it, q: {"id": it.set_breakpoint(_text(q, "filter")).id}),
        "clear": of(lambda it, q: it.clear_breakpoint(_number(q))),
        "pause": of(lambda it, q: it.pause()),
        "resume": of(lambda it, q: it.resume()),
        "release_all": of(lambda it, q: it.release_all()),
        "release": of(lambda it, q: it.release(_number(q))),
        "discard": of(lambda it, q: it.discard(_number(q))),
        "edit": of(lambda it, q: it.edit(_number(q), _raw(q), is_forced=q.get("force") is True)),
        "duplicate": of(lambda it, q: it.duplicate(_number(q), _number(q, "times", 2))),
        "delay": of(lambda it, q: it.delay(_number(q), _seconds(q, "seconds"))),
        "answer": of(_answer),
        "inject": of(_inject),
    }


def _state(interceptor: Interceptor | None) -> Any:
    if interceptor is None:
        return {"paused": False, "breakpoints": [], "holds": []}
    return {
        "paused": interceptor.is_paused,
        "breakpoints": [
            {"id": point.id, "filter": point.expression} for point in interceptor.breakpoints
        ],
        "holds": [
            {
                "id": hold.id,
                "n": hold.n,
                "from": hold.side,
                "breakpoint": hold.breakpoint,
                "age": round(hold.age, 3),
                "left": round(hold.left, 3),
                "waiting": hold.waiting,
                **_spelled(hold.raw),
            }
            for hold in interceptor.holds()
        ],
    }


def _answer(interceptor: Interceptor, question: Question) -> None:
    if "error" in question:
        interceptor.answer(_number(question), error=question["error"])
    else:
        interceptor.answer(_number(question), result=question.get("result"))


def _inject(interceptor: Interceptor, question: Question) -> Any:
    side: Any = question.get("from")
    if side not in {"client", "agent"}:
        raise ValueError("from has to be client or agent")
    injection = interceptor.inject(
        cast("Side", side),
        _raw(question),
        is_forced=question.get("force") is True,
        keeps_id=question.get("keep_id") is True,
    )
    wait = min(_seconds(question, "wait", 0.0), ANSWER_LIMIT)
    answer = injection.wait(wait) if wait and injection.id is not None else None
    told = {} if answer is None else {"answer": _spelled(answer)}
    return {"id": injection.id, **told}


def _text(question: Question, name: str) -> str:
    value = question.get(name)
    if not isinstance(value, str):
        raise TypeError(f"{name} has to be a text")
    return value


def _number(question: Question, name: str = "id", default: int | None = None) -> int:
    value = question.get(name, default)
    if type(value) is not int:
        raise TypeError(f"{name} has to be a whole number")
    return value


def _seconds(question: Question, name: str, default: float | None = None) -> float:
    value = question.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} has to be a number of seconds")
    return float(value)


def _raw(question: Question) -> bytes:
    if "b64" in question:
        return base64.b64decode(_text(question, "b64"), validate=True)
    return _text(question, "text").encode(errors="surrogatepass")


def _spelled(raw: bytes) -> dict[str, str]:
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(raw).decode()}
