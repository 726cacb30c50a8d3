"""Whom the simulated server lets in, and whom it puts back: as 0.5.11's `PrefillAdder` and `retract_decode` do."""

from __future__ import annotations

from tui.simulator.pools import Pools, StatePool
from tui.simulator.scheduler import Running, Scheduler


def scheduler(*, tokens: int = 10_000, places: int = 8, state: StatePool | None = None, waiting: int = 4) -> Scheduler:
    """With so many waiting whose prompts have 100 tokens, and that want 1000."""
    made = Scheduler(Pools(tokens, 0, places, state), chunk_tokens=8192, conservativeness=1.0)
    made.waiting.extend(Running(f"r{number}", 100, 0, 1000) for number in range(waiting))
    return made


def test_places_are_filled_and_the_others_wait() -> None:
    made = scheduler(places=2)
    assert [one.rid for one in made.begin()] == ["r0", "r1"]
    assert (made.load().running, made.load().queued, made.begin()) == (2, 2, [])
    made.drop("r0")
    assert [one.rid for one in made.begin()] == ["r2"]


def test_room_is_kept_for_what_may_come() -> None:
    """In one batch all of it, 1100 tokens each and one for the page; of those that run already 70 %."""
    made = scheduler(tokens=2250, waiting=3)
    assert [one.rid for one in made.begin()] == ["r0", "r1"]
    # 2250 - 2 x 100 - 2 x 700 = 650, and then 1101 are wanted: nobody, until one ends or is put back.
    assert made.begin() == []
    list(made.generate(tuple(made.running.values()), 1000))
    assert [one.rid for one in made.begin()] == ["r2"]


def test_prompts_share_a_chunk() -> None:
    made = Scheduler(Pools(100_000, 0, 8, None), chunk_tokens=250, conservativeness=1.0)
    made.waiting.extend(Running(str(number), 100, 0, 10) for number in range(3))
    assert [len(made.begin()), len(made.begin())] == [2, 1]


def test_the_youngest_is_put_back_when_the_cache_is_full() -> None:
    made = scheduler(tokens=3000, places=3, waiting=3)
    assert len(made.begin()) == 2
    [first, second] = made.running.values()
    list(made.generate([first], 400))
    list(made.generate([second], 300))
    assert made.make_room(1) is None
    made._pools = Pools(901, 0, 3, None)  # 900 tokens are used, and each of them wants one more
    told = made.make_room(1)
    assert told is not None
    assert (told.requests, told.tokens, [one.rid for one in made.waiting]) == (1, 400, ["r2", "r1"])
    assert (told.new_ratio, made.load().retracted) == ((400 + 20) / 1001, 1)
    assert made.make_room(10_000) is None, "the last one stays"


def test_a_request_holds_all_but_one_of_its_slots() -> None:
    made = scheduler(places=4, state=StatePool(slots=20, slots_per_request=5, conv_bytes=0, ssm_bytes=0))
    made.begin()
    assert made.load().slots == 16
    assert StatePool(4, 1, 0, 0).held_per_request == 1, "without a prefix cache"
