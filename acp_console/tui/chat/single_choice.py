"""A form with a single choice: one of the values of its only field, chosen by one key."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content

from acp_console.chat.elicitation import (
    ElicitationAnswer,
    ElicitationField,
    FieldChoice,
    FormRequest,
)
from acp_console.tui.chat.ask import PermissionTiming, ReadText
from acp_console.tui.chat.choice_list import ChoiceAsk, ChoiceLabel
from acp_console.tui.chat.form import Answered, shown_text
from acp_protocol.host.sanitize import escape_controls, single_line

MAX_LABEL: Final = 2000
"""Characters of a choice that are shown; a longer one cannot be chosen."""
UNSEEN: Final = "Read the question to its end first: PgDn shows more."


class SingleChoiceForm(ChoiceAsk):
    """Asks for one of the values of a form's only field."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Not now")]

    def __init__(
        self, request: FormRequest, field: ElicitationField, timing: PermissionTiming
    ) -> None:
        answers = [ElicitationAnswer("accept", {field.name: each.value}) for each in field.choices]
        lines = [_line(each) for each in field.choices]
        if not field.is_required:
            lines.append(ChoiceLabel("None of these", is_apart=True))
            answers.append(ElicitationAnswer("accept", {}))
        lines.append(ChoiceLabel("No answer", "n", is_apart=True))
        answers.append(ElicitationAnswer("decline"))
        values = [each.value for each in field.choices]
        cursor = values.index(field.default) if field.default in values else 0
        super().__init__(request, timing, lines, cursor)
        self._request = request
        self._field = field
        self._answers = answers

    def compose(self) -> ComposeResult:
        request, field = self._request, self._field
        texts = (request.title, request.message, request.description, field.title,
                 field.description)  # fmt: skip
        text = "\n".join(dict.fromkeys(each for each in texts if each and each != field.name))
        with VerticalScroll(classes="message", can_focus=False):
            yield ReadText(shown_text(text), classes="request-text", markup=False)
        yield from self.compose_choices()

    @on(ReadText.EndSeen)
    def note_what_is_seen(self) -> None:
        self.show_hint()

    def hint(self) -> str | Content:
        return self.obstacle(0) or self.how("esc: not now")

    def obstacle(self, place: int) -> str | None:
        accepts = self._answers[place].action == "accept"
        return None if self.query_one(ReadText).was_seen or not accepts else UNSEEN

    def take(self, place: int) -> None:
        self.post_message(Answered(self._request, self._answers[place]))

    def action_cancel(self) -> None:
        if self.has_settled:
            self.post_message(Answered(self._request, ElicitationAnswer("cancel")))


def _line(choice: FieldChoice) -> ChoiceLabel:
    texts = [each for each in (choice.title, choice.description) if each]
    label = " · ".join(single_line(each, MAX_LABEL) for each in texts)
    return ChoiceLabel(
        label, is_whole=all(len(escape_controls(each)) <= MAX_LABEL for each in texts)
    )
