"""The health state machine of devices."""

from hypothesis import given
from hypothesis import strategies as st

from inventory.health import ON_PROBATION, TAKES_JOBS, HealthState, Observation, Thresholds, step
from inventory.models import DeviceHealth

T = Thresholds()
OK, FAILED, FATAL, UNKNOWN = Observation.OK, Observation.FAILED, Observation.FATAL, Observation.UNKNOWN
CHECKS = st.sampled_from([OK, FAILED, FATAL, UNKNOWN])
ANYTHING = st.sampled_from(Observation)


def run(*observations, state=HealthState(), thresholds=T):  # noqa: B008
    for observation in observations:
        state = step(state, observation, thresholds)
    return state


HEALTHY = run(OK)


def test_a_new_device_is_unknown_and_healthy_after_its_first_good_check():
    assert HealthState().health is DeviceHealth.UNKNOWN
    assert HEALTHY.health is DeviceHealth.HEALTHY


def test_fewer_than_three_failures_only_make_it_suspect_and_a_good_check_clears_it():
    assert run(FAILED, state=HEALTHY).health is DeviceHealth.SUSPECT
    assert run(FAILED, FAILED, state=HEALTHY).health is DeviceHealth.SUSPECT
    assert run(FAILED, FAILED, OK, FAILED, FAILED, state=HEALTHY).health is DeviceHealth.SUSPECT
    assert run(FAILED, FAILED, OK, state=HEALTHY).health is DeviceHealth.HEALTHY


def test_three_failures_in_a_row_and_one_fatal_quarantine():
    assert run(FAILED, FAILED, FAILED, state=HEALTHY).health is DeviceHealth.QUARANTINED
    assert run(FATAL, state=HEALTHY).health is DeviceHealth.QUARANTINED


def test_an_unreadable_check_does_not_forget_failures():
    assert run(FAILED, UNKNOWN, FAILED, FAILED, state=HEALTHY).health is DeviceHealth.QUARANTINED


def test_three_unreadable_checks_drain_and_five_good_ones_bring_it_back():
    assert run(UNKNOWN, UNKNOWN, state=HEALTHY).health is DeviceHealth.HEALTHY
    drained = run(UNKNOWN, UNKNOWN, UNKNOWN, state=HEALTHY)
    assert drained.health is DeviceHealth.UNKNOWN
    assert run(OK, OK, OK, OK, state=drained).health is DeviceHealth.UNKNOWN
    assert run(OK, OK, OK, OK, OK, state=drained).health is DeviceHealth.HEALTHY
    assert run(OK, OK, OK, OK, UNKNOWN, OK, state=drained).health is DeviceHealth.UNKNOWN


def test_five_good_checks_recover_and_a_person_releases():
    recovered = run(FATAL, OK, OK, OK, OK, OK)
    assert recovered.health is DeviceHealth.RECOVERED
    assert run(*[OK] * 50, state=recovered).health is DeviceHealth.RECOVERED
    assert run(Observation.RELEASED, state=recovered).health is DeviceHealth.HEALTHY


def test_a_row_of_good_checks_starts_again_after_any_other():
    for other in (FAILED, UNKNOWN, FATAL):
        assert run(FATAL, OK, OK, OK, OK, other, OK, OK, OK, OK).health is DeviceHealth.QUARANTINED


def test_release_before_recovery_changes_nothing():
    quarantined = run(FATAL, OK)
    assert run(Observation.RELEASED, state=quarantined) == quarantined


def test_auto_release_needs_no_person():
    auto = Thresholds(auto_release=True)
    assert run(FATAL, OK, OK, OK, OK, OK, thresholds=auto).health is DeviceHealth.HEALTHY


def test_a_failure_on_probation_goes_back_to_quarantine():
    recovered = run(FATAL, OK, OK, OK, OK, OK)
    assert run(FAILED, state=recovered).health is DeviceHealth.QUARANTINED
    assert run(UNKNOWN, UNKNOWN, UNKNOWN, state=recovered).health is DeviceHealth.QUARANTINED


def test_leaving_and_returning_does_not_wash_a_quarantine_away():
    gone = run(FATAL, Observation.VANISHED)
    assert gone.health is DeviceHealth.MISSING
    assert run(Observation.RETURNED, *[OK] * 4, state=gone).health is DeviceHealth.QUARANTINED
    healthy_gone = run(Observation.VANISHED, Observation.RETURNED, state=HEALTHY)
    assert healthy_gone.health is DeviceHealth.UNKNOWN
    assert run(*[OK] * 4, state=healthy_gone).health is DeviceHealth.UNKNOWN
    assert run(*[OK] * 5, state=healthy_gone).health is DeviceHealth.HEALTHY


def test_a_steady_state_stays_equal_so_that_nothing_is_written():
    steady = run(*[OK] * 5)
    assert step(steady, OK, T) == steady
    drained = run(*[UNKNOWN] * 3)
    assert step(drained, UNKNOWN, T) == drained


@given(st.lists(ANYTHING, max_size=60))
def test_out_of_quarantine_leads_only_a_release(observations):
    state = HealthState()
    for observation in observations:
        after = step(state, observation, T)
        was_bad = state.health in ON_PROBATION or state.before_missing in ON_PROBATION
        if was_bad and after.health not in ON_PROBATION and after.health is not DeviceHealth.MISSING:
            assert observation is Observation.RELEASED and state.health is DeviceHealth.RECOVERED
        state = after


@given(st.lists(CHECKS, max_size=60))
def test_after_a_fatal_check_no_job_goes_there_without_a_release(checks):
    state = run(*checks, FATAL)
    for check in checks:
        state = step(state, check, T)
        assert state.health not in TAKES_JOBS


@given(st.lists(st.sampled_from([OK, FAILED, UNKNOWN]), max_size=60))
def test_without_three_bad_checks_of_a_kind_in_a_row_nothing_is_taken_away(checks):
    state, failures, unknowns = HEALTHY, 0, 0
    for check in checks:
        failures = {OK: 0, FAILED: failures + 1, UNKNOWN: failures}[check]
        unknowns = {OK: 0, FAILED: 0, UNKNOWN: unknowns + 1}[check]
        state = step(state, check, T)
        if failures >= 3 or unknowns >= 3:
            return
        assert state.health in TAKES_JOBS


@given(st.lists(ANYTHING, max_size=60))
def test_counters_stay_within_their_thresholds(observations):
    state = HealthState()
    for observation in observations:
        state = step(state, observation, T)
        assert 0 <= state.failed <= T.failed and 0 <= state.good <= T.good and 0 <= state.unknown <= T.unknown
        assert (state.health is DeviceHealth.MISSING) == (state.before_missing is not None)
