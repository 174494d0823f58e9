"""Another cap in the text of a policy: nothing else of it changes, whatever way it is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.policy import active
from controlplane.policy.queue_edit import NotEditable, QueueChange, edited_text, percent_text
from controlplane.policy.reading import read_document

SAMPLE = (Path(active.__file__).parent / "sample.yaml").read_text(encoding="utf-8")
BLOCK = """\
# Ours.
queue-policy:
  queues:
    - name: inference   # people wait for it
      priority: 100
      quota: 30 %       # as agreed
    - name: offline
      priority: 30
      preemptable: true
      model-caps:
        nvidia-a100: 50%
        # not the old ones
  fair-share-half-life-days: 3
scoring-weights:
  power: 0.1  # try
"""


def change(queue: str, **fields: object) -> QueueChange:
    return QueueChange(queue, fields)


def test_a_share_is_changed_in_place():
    made = edited_text(SAMPLE, change("training", quota_ppm=400_000))
    assert made == SAMPLE.replace("quota: 50%", "quota: 40%")


def test_comments_and_order_stay():
    made = edited_text(BLOCK, change("inference", quota_ppm=333_333))
    assert made == BLOCK.replace("30 %  ", "33.3333%  ")
    made = edited_text(BLOCK, change("inference", quota_ppm=None))
    assert made == BLOCK.replace("30 %  ", "null  ")


def test_what_was_not_there_stands_behind_the_name():
    made = edited_text(BLOCK, change("offline", quota_ppm=200_000, borrow=True))
    assert (
        "- name: offline\n      " in made
        and "\n      quota: 20%\n" in made
        and "\n      borrow: true\n" in made
    )
    made = edited_text(SAMPLE, change("offline", borrow=True))
    assert "{name: offline, borrow: true, priority: 30" in made


def test_caps_of_models_are_replaced_as_a_whole():
    caps = {"nvidia-v100": 125_000, "nvidia-a100": 10_000}
    made = edited_text(BLOCK, change("offline", model_caps_ppm=caps))
    assert "{nvidia-a100: 1%, nvidia-v100: 12.5%}\n        # not the old ones" in made
    found = read_document(made).queue_policy.queues[1]
    assert found.model_caps_ppm == caps
    assert edited_text(made, change("offline", model_caps_ppm={})).count("model-caps:\n        {}\n") == 1


@pytest.mark.parametrize("text", ["scheduler: {}", "scheduler:\n  name: ours # mine\n", "name: ours"])
def test_a_document_without_queues_gets_its_own(text):
    made = edited_text(text, change("offline", quota_ppm=100_000))
    assert made.startswith(text.rstrip())
    before, after = read_document(text).queue_policy.queues, read_document(made).queue_policy.queues
    assert after[:2] == before[:2] and after[2].quota_ppm == 100_000
    assert read_document(made).name == read_document(text).name


@pytest.mark.parametrize(
    ("text", "queue"),
    [
        # A share that another queue repeats, the whole in one flow, a part of the section without its queues.
        (
            "queue-policy: {queues: [{name: a, priority: 1, quota: &ours 9%}, {name: b, priority: 2, quota: *ours}]}",
            "a",
        ),
        ("{scheduler: {}}", "offline"),
        ("queue-policy:\n  fair-share-half-life-days: 3\n", "offline"),
    ],
)
def test_what_would_change_more_is_refused(text, queue):
    with pytest.raises(NotEditable):
        edited_text(text, change(queue, quota_ppm=200_000))


def test_a_queue_that_is_not_there_is_named():
    with pytest.raises(KeyError):
        edited_text(SAMPLE, change("nights", quota_ppm=0))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1_000_000), st.sampled_from(["inference", "training", "offline"]), st.booleans())
def test_every_share_reads_back(ppm, queue, twice):
    made = edited_text(SAMPLE, change(queue, quota_ppm=ppm))
    made = edited_text(made, change(queue, quota_ppm=ppm)) if twice else made
    found = {spec.name: spec.quota_ppm for spec in read_document(made).queue_policy.queues}
    assert found[queue] == ppm
    assert percent_text(ppm).endswith("%")
