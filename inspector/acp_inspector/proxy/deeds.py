"""What observers may do to the traffic of a running proxy, as the control socket asks for it.

Bytes travel as `text`, as `json` where they are JSON on one line, or as `b64` where they are no
text. Where the `id` of a hold is left out, the oldest is meant.

| `do`                             | with                                                      |
|----------------------------------|-----------------------------------------------------------|
| `state`                          |                                                           |
| `held`                           | `seconds`: waits so long for a hold; `after` another one  |
| `read`                           | `id` of a hold; returns all of it                         |
| `break`                          | `filter`, `lasting`; returns the breakpoint's `id`        |
| `clear`                          | `id` of a breakpoint                                      |
| `pause`, `resume`, `release_all` |                                                           |
| `keep`                           | `seconds`: all countdowns begin anew, and last so long    |
| `release`                        | `id` of a hold                                            |
| `discard`                        | `id`, `silent`                                            |
| `edit`                           | `id`, bytes, `force`                                      |
| `duplicate`                      | `id`, `times`                                             |
| `delay`                          | `id`, `seconds`                                           |
| `answer`                         | `id`, `result` or `error`                                 |
| `inject`                         | `from`, bytes, `force`, `keep_id`, `wait`; returns the    |
|                                  | `id` it got, its number `n`, and the `answer`             |

Source: docs/intercept.md, "From a shell".
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from acp_inspector.proxy.interference import Interference
from acp_protocol import jsonrpc

if TYPE_CHECKING:
    from acp_inspector.intercept.injection import Injection
    from acp_inspector.intercept.interceptor import Interceptor
    from acp_protocol.framing import Side

Question: TypeAlias = Mapping[str, Any]

WAIT_LIMIT: Final = 3600.0
"""Seconds that somebody may wait for a hold, or for the answer to what was injected."""
DEPARTURE: Final = 2.0
"""Seconds that an injected frame has to leave, before its number is told as not known."""
PREVIEW: Final = 16_384
"""Bytes of a held frame that stand in the state; `read` returns the rest, too."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What an answer has to wait for, as long as who asked is there."""

    seconds: float
    look: Callable[[float], bool]
    """Waits at most so many seconds; tells whether it has come."""
    told: Callable[[], Any]
    """What to answer then, or when it has not come in time."""


def deeds_on(interference: Interference) -> Mapping[str, Callable[[Question], Any]]:
    """Return the deeds by name."""

    def of(deed: Callable[[Interceptor, Question], Any]) -> Callable[[Question], Any]:
        def do(question: Question) -> Any:
            interceptor = interference.get()
            interceptor.attend()
            return deed(interceptor, question)

        return do

    return {
        "state": lambda question: _state(interference.interceptor),
        "held": of(_held),
        "read": of(lambda it, q: spelled(it.read(_hold(it, q)))),
        "break": of(_break),
        "clear": of(lambda it, q: it.clear_breakpoint(_number(q))),
        "pause": of(lambda it, q: it.pause()),
        "resume": of(lambda it, q: it.resume()),
        "release_all": of(lambda it, q: it.release_all()),
        "keep": of(lambda it, q: it.keep(_seconds(q, "seconds") if "seconds" in q else None)),
        "release": of(lambda it, q: it.release(_hold(it, q))),
        "discard": of(lambda it, q: it.discard(_hold(it, q), is_silent=q.get("silent") is True)),
        "edit": of(lambda it, q: it.edit(_hold(it, q), _raw(q), is_forced=q.get("force") is True)),
        "duplicate": of(lambda it, q: it.duplicate(_hold(it, q), _number(q, "times", 2))),
        "delay": of(lambda it, q: it.delay(_hold(it, q), _seconds(q, "seconds"))),
        "answer": of(_answer),
        "inject": of(_inject),
    }


def spelled(raw: bytes) -> dict[str, str]:
    """Return bytes as they travel in an answer."""
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(raw).decode()}


def _state(interceptor: Interceptor | None) -> Any:
    # Looking is no reason to begin to interfere; but who looks is there.
    if interceptor is None:
        return {"paused": False, "breakpoints": [], "holds": [], "struck": {}}
    interceptor.attend()
    return {
        "paused": interceptor.is_paused,
        "limit": interceptor.hold_limit,
        "breakpoints": [
            {"id": point.id, "filter": point.expression, "lasting": point.is_lasting}
            for point in interceptor.breakpoints
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
                "size": len(hold.raw),
                **_preview(hold.raw),
            }
            for hold in interceptor.holds()
        ],
        "struck": interceptor.struck,
    }


def _preview(raw: bytes) -> dict[str, Any]:
    if len(raw) <= PREVIEW:
        return spelled(raw)
    # A character that the cut went through is left out.
    return {"text": raw[:PREVIEW].decode(errors="ignore"), "is_cut": True}


def _held(interceptor: Interceptor, question: Question) -> Waiting:
    after = _number(question, "after", 0)
    return Waiting(
        _patience(question, "seconds"),
        lambda seconds: interceptor.wait_for_hold(seconds, after),
        lambda: _state(interceptor),
    )


def _break(interceptor: Interceptor, question: Question) -> Any:
    # What somebody sets who is only passing would otherwise go with somebody else.
    is_lasting = question.get("lasting", question.get("passing")) is True
    return {"id": interceptor.set_breakpoint(_text(question, "filter"), is_lasting=is_lasting).id}


def _answer(interceptor: Interceptor, question: Question) -> None:
    if ("error" in question) == ("result" in question):
        raise ValueError("an answer needs either result or error")
    if "error" in question:
        if question["error"] is None:
            raise ValueError("an error needs an integer `code` and a `message`")
        interceptor.answer(_hold(interceptor, question), error=question["error"])
    else:
        interceptor.answer(_hold(interceptor, question), result=question["result"])


def _inject(interceptor: Interceptor, question: Question) -> Any:
    side: Any = question.get("from")
    if side not in {"client", "agent"}:
        raise ValueError("from has to be client or agent: who shall seem to have sent it")
    raw, is_forced = _raw(question), question.get("force") is True
    if not is_forced:
        # Late, because a proxy with which nobody interferes must start light.
        from acp_inspector.intercept.passage import refuse_line_endings, refuse_no_json

        # No force makes one line of several, so that is said first.
        refuse_line_endings(raw)
        refuse_no_json(raw)
    injection = interceptor.inject(
        cast("Side", side),
        raw,
        is_forced=is_forced,
        keeps_id=question.get("keep_id") is True,
    )
    wait = _patience(question, "wait")
    if not (wait and injection.is_question):
        # Its number is known as soon as it leaves, which the very first one does a little later.
        return Waiting(DEPARTURE, injection.wait_to_leave, lambda: _injected(injection))
    return Waiting(
        wait,
        lambda seconds: injection.wait(seconds) is not None,
        lambda: _injected(injection),
    )


def _injected(injection: Injection) -> Any:
    told = {} if injection.answer is None else {"answer": spelled(injection.answer)}
    return {"id": injection.id, "n": injection.n, **told}


def _text(question: Question, name: str) -> str:
    value = question.get(name)
    if not isinstance(value, str):
        raise TypeError(f"{name} has to be a text")
    return value


def _hold(interceptor: Interceptor, question: Question) -> int:
    """Return the number of the hold that is meant; without one, it is the oldest."""
    if "id" in question:
        return _number(question)
    holds = interceptor.holds()
    if not holds:
        raise ValueError("nothing is held")
    return holds[0].id


def _number(question: Question, name: str = "id", default: int | None = None) -> int:
    value = question.get(name, default)
    if type(value) is not int:
        raise TypeError(f"{name} has to be a whole number")
    return value


def _seconds(question: Question, name: str, default: float | None = None) -> float:
    value = question.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} has to be a number of seconds")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is more seconds than anybody can wait") from None


def _patience(question: Question, name: str) -> float:
    seconds = _seconds(question, name, 0.0)
    if not 0 <= seconds <= WAIT_LIMIT:
        raise ValueError(f"{name} has to be 0 to {WAIT_LIMIT:.0f} seconds")
    return seconds


def _raw(question: Question) -> bytes:
    given = [name for name in ("text", "json", "b64") if name in question]
    if len(given) != 1:
        raise ValueError("the frame stands in one of text, json and b64")
    if "json" in question:
        return jsonrpc.encode(question["json"])
    if "b64" in question:
        return base64.b64decode(_text(question, "b64"), validate=True)
    return _text(question, "text").encode(errors="surrogatepass")
