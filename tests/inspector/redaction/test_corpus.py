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

from acp_inspector.redaction.detector import SecretDetector
from acp_inspector.redaction.patterns import RULES
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
        stream = StreamDetector(detector)
        lines = enumerate(corpus.streamed(sample.text, r), start=2)
        found = [each for number, line in lines for each in stream.feed(number, line)]
        return [each.match.value for each in (*found, *stream.finish())]
    text = FORMS[form].write(sample.text, r)
    return [FORMS[form].read(text[hit.start : hit.end]) for hit in detector.find(text)]


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


def test_the_corpus_has_fifty_kinds_of_secrets_and_of_harmless_texts() -> None:
    assert len({sample.kind for sample in corpus.secrets(SEED, 1)}) >= 50
    assert len({sample.kind for sample in corpus.harmless(SEED, 1)}) >= 50


def test_the_page_has_the_measured_values() -> None:
    assert table() in PAGE.read_text(), f"put this table into {PAGE.name}:\n{table()}"
