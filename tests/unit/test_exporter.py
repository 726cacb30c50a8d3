"""`ps --prometheus` as a textfile collector reads it."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import structs
from prometheus_client.parser import text_string_to_metric_families

from tests.support.fake_core import gpu, holding, instance, uuid
from tests.support.planning import STORY, make_plan_request
from tui.budget.plan import plan
from tui.cli.exporter import expose
from tui.gpu import GpuReading
from tui.keeper.states import State
from tui.metrics.live import LiveMetrics, Source
from tui.observe import Snapshot
from tui.units import GIB

NASTY = 'quo"ted \\ back\nline \x1b[31m'


def read(exposed: bytes) -> dict[str, dict[frozenset[tuple[str, str]], float]]:
    text = exposed.decode()
    samples = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(samples) == len(set(samples)), "a series may be there once"
    return {
        family.name: {frozenset(sample.labels.items()): sample.value for sample in family.samples}
        for family in text_string_to_metric_families(text)
    }


def one(**labels: str) -> frozenset[tuple[str, str]]:
    return frozenset(labels.items())


def test_gpus_servers_and_budgets() -> None:
    live = LiveMetrics(at=datetime.now(UTC), source=Source.METRICS, running=6, queued=2, kv_usage=0.31)
    ready = structs.replace(instance("a", State.READY, memory_bytes=3 * GIB, uptime_s=60.5), live=live)
    snapshot = Snapshot(GpuReading((gpu(0, [holding(1, 4)]),)), (ready, instance("b", State.FAILED)))
    budget = plan(
        make_plan_request(
            "qwen3.6-27b", ["--max-running-requests", "8", "--mem-fraction-static", "0.8"], "0.5.11", given=STORY
        )
    )
    told = read(expose(snapshot, {"a": budget}))
    assert told["sgltui_gpu_memory_used_bytes"][one(gpu="0", uuid=uuid(0), name=gpu(0).name)] == 4 * GIB
    assert told["sgltui_gpu_utilization_ratio"][one(gpu="0", uuid=uuid(0), name=gpu(0).name)] == 0.03
    assert told["sgltui_server_state"][one(name="a", state="ready")] == 1
    assert told["sgltui_server_state"][one(name="b", state="failed")] == 1
    assert sum(told["sgltui_server_state"].values()) == 2
    assert told["sgltui_server_memory_bytes"] == {one(name="a"): 3 * GIB}
    assert told["sgltui_server_requests_running"] == {one(name="a"): 6}
    assert told["sgltui_server_kv_cache_usage_ratio"] == {one(name="a"): 0.31}
    assert told["sgltui_server_tokens_per_second"] == {}
    planned = {dict(labels)["component"]: value for labels, value in told["sgltui_budget_bytes"].items()}
    assert round(planned["weights"] / GIB, 2) == STORY["weights"]
    assert sum(planned.values()) == sum(item.size for item in budget.ranks[0].items)


def test_every_family_says_what_it_is() -> None:
    text = expose(Snapshot(GpuReading((gpu(0),)), ()), {}).decode()
    families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert families
    assert families == [line.split()[2] for line in text.splitlines() if line.startswith("# HELP")]


def test_labels_are_escaped() -> None:
    names = ("x\udcff", "x\udcfe", "日本", '{a="b"} 1')
    servers = tuple(instance(name, State.READY) for name in names)
    exposed = expose(Snapshot(GpuReading((gpu(0, name=NASTY),)), servers), {})
    assert b"\nline" not in exposed
    [labels] = read(exposed)["sgltui_gpu_memory_total_bytes"]
    assert dict(labels)["name"] == NASTY
    found = {dict(labels)["name"] for labels in read(exposed)["sgltui_server_attended"]}
    assert found == {"x\\xff", "x\\xfe", "日本", '{a="b"} 1'}


def test_an_empty_machine_is_an_answer() -> None:
    assert read(expose(Snapshot(GpuReading(), ()), {}))["sgltui_server_state"] == {}
