"""Recall and precision of the detector on a corpus, by form; printed, and held."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_inspector.redaction.detector import SecretDetector
from acp_inspector.redaction.patterns import RULES
from acp_inspector.redaction.placeholders import PlaceholderMap, redact_text
from acp_inspector.redaction.stream import StreamDetector
from tests.inspector.redaction import corpus
from tests.inspector.redaction.corpus import FORMS, Sample

SEED: Final = 14
COUNT: Final = 12
STREAMED: Final = "split over chunks"
MIN_RECALL: Final = 0.99
MIN_PRECISION: Final = 0.99
MAX_FALSE: Final = 0.01
PAGE: Final = Path(__file__).parents[3] / "docs" / "redaction.md"


@dataclass(slots=True)
class Score:
    """What the detector did with the corpus in one form."""

    secrets: int = 0
    texts: int = 0
    missed: list[Sample] = field(default_factory=list[Sample])
    wrong: list[tuple[Sample, str]] = field(default_factory=list[tuple[Sample, str]])
    """Matches that are no secret."""
    alarms: set[Sample] = field(default_factory=set[Sample])
    """Harmless texts with such matches."""

    @property
    def recall(self) -> float:
        return 1 - len(self.missed) / self.secrets

    @property
    def precision(self) -> float:
        found = self.secrets - len(self.missed)
        return found / (found + len(self.wrong))

    @property
    def false(self) -> float:
        """The share of harmless texts in which anything was found."""
        return len(self.alarms) / self.texts


def matches(sample: Sample, form: str) -> list[str]:
    """Return what the detector finds in a text that is written in a form."""
    r = random.Random(sample.text)
    detector = SecretDetector(RULES, {})
    if form == STREAMED:
        return in_stream(corpus.in_chunks(sample.text, r))
    text = FORMS[form].write(sample.text, r)
    return [FORMS[form].read(text[hit.start : hit.end]) for hit in detector.find(text)]


def in_stream(chunks: list[str]) -> list[str]:
    """Return what the detector finds in text that is streamed in chunks."""
    stream = StreamDetector(SecretDetector(RULES, {}))
    lines = enumerate(corpus.streamed(chunks), start=2)
    found = [each for number, line in lines for each in stream.feed(number, line)]
    return [each.match.value for each in (*found, *stream.finish())]


@cache
def score(form: str) -> Score:
    result = Score()
    for sample in corpus.secrets(SEED, COUNT):
        found = matches(sample, form)
        result.secrets += 1
        if sample.secret not in found:
            result.missed.append(sample)
        result.wrong += [(sample, each) for each in found if each != sample.secret]
    for sample in corpus.harmless(SEED, COUNT):
        found = matches(sample, form)
        result.texts += 1
        result.wrong += [(sample, each) for each in found]
        if found:
            result.alarms.add(sample)
    return result


def table() -> str:
    """Return the measured values of all forms as a table for the page about redaction."""
    rows = ["| form | recall | precision | harmless texts with a match |", "|---|---|---|---|"]
    for form in (*FORMS, STREAMED):
        it = score(form)
        rows.append(f"| {form} | {it.recall:.1%} | {it.precision:.1%} | {it.false:.1%} |")
    return "\n".join(rows)


def by_kind(samples: Iterable[Sample]) -> dict[str, int]:
    return dict(Counter(sample.kind for sample in samples).most_common())


@pytest.mark.parametrize("form", [*FORMS, STREAMED])
def test_secrets_are_found_and_harmless_text_is_left_alone(form: str) -> None:
    it = score(form)
    print(f"\n{form}: {it.recall:.1%} found, {it.precision:.1%} of matches right")  # noqa: T201 - for people
    assert it.recall >= MIN_RECALL, by_kind(it.missed)
    assert it.precision >= MIN_PRECISION, it.wrong[:20]
    assert it.false <= MAX_FALSE, sorted(it.alarms, key=str)[:20]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([*corpus.secrets(SEED + 1, 2), *corpus.harmless(SEED + 1, 2)]), st.data())
def test_however_a_text_is_split_the_same_secrets_are_found(
    sample: Sample, data: st.DataObject
) -> None:
    text = sample.text
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert in_stream(pieces) == in_stream([text])


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([*corpus.secrets(SEED + 2, 2)]), st.data())
def test_wherever_a_text_is_coloured_its_secret_is_removed_whole(
    sample: Sample, data: st.DataObject
) -> None:
    text = sample.text
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=1, max_size=8)))
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    coloured = "\x1b[1;31m".join(pieces)
    detector = SecretDetector(RULES, {})
    plain, _ = redact_text(text, detector, PlaceholderMap())
    cut, hits = redact_text(coloured, detector, PlaceholderMap())
    assert sample.secret in [hit.value for hit in hits]
    assert cut.replace("\x1b[1;31m", "") == plain
    assert redact_text(cut, detector, PlaceholderMap(first=9)) == (cut, [])


@pytest.mark.parametrize("form", FORMS)
def test_redacting_again_changes_nothing(form: str) -> None:
    detector = SecretDetector(RULES, {})
    for sample in corpus.secrets(SEED, 2):
        text = FORMS[form].write(sample.text, random.Random(sample.text))
        cut, _ = redact_text(text, detector, PlaceholderMap())
        assert redact_text(cut, detector, PlaceholderMap(first=9)) == (cut, [])


def test_the_corpus_has_fifty_kinds_of_secrets_and_of_harmless_texts() -> None:
    assert len({sample.kind for sample in corpus.secrets(SEED, 1)}) >= 50
    assert len({sample.kind for sample in corpus.harmless(SEED, 1)}) >= 50


def test_the_page_has_the_measured_values() -> None:
    assert table() in PAGE.read_text(), f"put this table into {PAGE.name}:\n{table()}"
