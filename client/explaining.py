"""Why a job waits or went where it is, and what a device could run, as lines for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from client.api import JSON, Answered, as_documented
from client.messages import CATALOGUE, say, word
from client.render import (
    decimals_for,
    devices_of,
    escape_controls,
    local_time,
    quantities,
    quantity,
    score,
    span,
)

# Of the jobs that an estimate waits for, as many are named.
MOST_NAMED = 5
# There is nothing to wait for that an estimate could be made from.
WITHOUT_ESTIMATE = frozenset(
    {"fits-now", "paused", "queue-paused", "not-looked-at", "takes-over", "no-nodes"}
)


@as_documented()
def show_explanation(answer: Answered) -> None:
    """The sentence, then the score sheet of a job that was placed, or what would help one that waits."""
    if answer["sentence"] is None:
        print(say("no-decision", status=escape_controls(answer["status"])))
        return
    print(escape_controls(answer.section("sentence")["text"]))
    if line := answer.get("line"):
        print(escape_controls(line["sentence"]["text"]))
    if kept := answer.get("reservation"):
        nodes = ", ".join(escape_controls(node["name"]) for node in kept["nodes"])
        print(say("reserved", at=local_time(kept["at"]), nodes=nodes))
    if decision := answer["decision"]:
        _show_decision(decision)
    else:
        show_refusal(answer)


def _show_decision(decision: JSON) -> None:
    scored = [one for one in decision["runners_up"] if one["score_ppm"] is not None]
    winner_ppm = decision["score_ppm"]
    decimals = decimals_for([winner_ppm, *(one["score_ppm"] for one in scored)])
    print(
        say(
            "placed",
            cpus=span(decision["cpus"]),
            devices=devices_of(decision["devices"]),
            score=score(winner_ppm, decimals),
        )
    )
    for term in decision["terms"]:
        value, weight, part = (score(term[f"{name}_ppm"]) for name in ("value", "weight", "contribution"))
        print(f"  {word(term['term']):<24}{value} × {weight} = {part}")
    _show_runners_up(scored, winner_ppm=winner_ppm, decimals=decimals)
    if tie := decision.get("tie"):
        print(escape_controls(tie["text"]))
    if "host_memory_limit" in decision:
        limit = decision["host_memory_limit"]
        print(say("host-limit", limit=say("unknown") if limit is None else word(f"limit-{limit}")))
    if not decision["isolates_users"]:
        print(say("not-isolated"))


def _show_runners_up(scored: Sequence[JSON], *, winner_ppm: int, decimals: int) -> None:
    """The nodes that came next, with how far behind the winner they were."""
    if scored:
        print(f"{say('runners-up')}:")
    for one in scored:
        behind = winner_ppm - one["score_ppm"]
        distance = f"-{score(behind, decimals)}" if behind else say("same-score")
        print(f"  {escape_controls(one['node_name'])}: {score(one['score_ppm'], decimals)} ({distance})")


@as_documented()
def show_refusal(answer: JSON) -> None:
    """What is left after each filter, the nodes that came near, the changes that help, and when it could start."""
    if answer["funnel"]:
        print(f"{say('filters')}:")
    for row in answer["funnel"]:
        label = escape_controls(row["label"])
        print(f"  {label}: {say('removed')} {row['removed']}, {say('left')} {row['left']}")
    labels = {row["code"]: row["label"] for row in answer["funnel"]}
    if answer["near"]:
        print(f"{say('near')}:")
        for near in answer["near"]:
            print(f"  {_near(near, labels)}")
    if answer["changes"]:
        print(f"{say('changes')}:")
        for change in answer["changes"]:
            print(f"  {escape_controls(change['text'])}")
    if unknown := answer.get("start_unknown"):
        print(escape_controls(unknown["text"]))
    elif answer["estimate"] is not None or _waits_for_room(answer):
        print(_estimate(answer["estimate"]))


def _waits_for_room(answer: JSON) -> bool:
    return answer["status"] != "held" and answer["sentence"]["code"] not in WITHOUT_ESTIMATE


@as_documented()
def show_trial(answer: JSON) -> None:
    """What a submission would lead to now."""
    if placement := answer["placement"]:
        nodes = [node["name"] for node in placement.get("nodes", ())] or [placement["node_name"]]
        where, cpus = escape_controls(", ".join(nodes)), span(placement["cpus"])
        print(say("would-start", node=where, cpus=cpus, devices=devices_of(placement["devices"])))
    else:
        refusal = answer["refusal"]
        print(say("would-wait", text=escape_controls(refusal["sentence"]["text"])))
        if takeover := answer.get("takeover"):
            print(say("would-yield", jobs=_jobs(takeover["stops"])))
        show_refusal(refusal)
    if array := answer.get("array"):
        print(escape_controls(array["sentence"]["text"]))


def _near(near: JSON, labels: Mapping[str, str]) -> str:
    needed, available, unit = near["needed"], near["available"], near["unit"]
    texts = quantities(needed, available, unit=unit)
    text = say(
        "near-node",
        node=escape_controls(near["node_name"]),
        code=escape_controls(labels.get(near["code"], near["code"])),
        needed=texts[0],
        available=texts[1],
        short=quantity(None if available is None else max(0, needed - available), unit),
    )
    if len(near["pieces"]) > 1:
        text += " " + say("in-pieces", pieces=", ".join(quantity(piece, "MiB") for piece in near["pieces"]))
    return text


def _estimate(estimate: JSON | None) -> str:
    if estimate is None:
        return say("no-estimate")
    return say(
        "estimate-earliest" if estimate["is_earliest"] else "estimate",
        at=local_time(estimate["at"]),
        node=escape_controls(estimate["node_name"]),
        jobs=_jobs(estimate["after_jobs"]),
        basis=_basis(estimate["basis"]),
    )


def _basis(basis: str) -> str:
    """In words; one that a newer server knows is shown as it is."""
    key = f"basis-{basis}"
    return say(key) if key in CATALOGUE else escape_controls(basis)


def _jobs(named: Sequence[JSON]) -> str:
    """The first of them."""
    some = ", ".join(_job(one["job"], one["name"]) for one in named[:MOST_NAMED])
    return some + (", ..." if len(named) > MOST_NAMED else "")


def _job(number: int, name: str | None) -> str:
    return f"{number} ({escape_controls(name)})" if name else str(number)


@as_documented()
def show_fits(answer: JSON) -> None:
    """The most that could be asked of a device now, or why it takes nothing, and the waiting jobs that would fit."""
    if answer["code"] is not None:
        print(say("takes-nothing", text=escape_controls(answer["text"])))
        return
    largest = answer["largest"]
    print(
        say(
            "fits-most",
            alone=quantity(largest["alone_mib"], "MiB"),
            shared=quantity(largest["shared_mib"], "MiB"),
            percent=f"{largest['compute_milli'] / 10:g}",
            cores=quantity(largest["cores"], "cores"),
            memory=quantity(largest["host_memory_mib"], "MiB"),
        )
    )
    print(say("fitting-jobs", total=answer["jobs_total"]))
    for job in answer["jobs"]:
        print(f"  {_job(job['id'], job['name'])} {escape_controls(job['queue'])}")
