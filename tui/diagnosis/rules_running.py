"""Lines that tell of processes, ports, collectives, and of kernels and code that fail while it works."""

from __future__ import annotations

from tui.diagnosis.progress import Stage
from tui.diagnosis.rule import Reach, Role, Rule, make_rule

_WORKING = frozenset(
    {Stage.MEMORY_POOL, Stage.CUDA_GRAPH_CAPTURE, Stage.WARMUP, Stage.READY, Stage.RUNTIME, Stage.SHUTDOWN}
)

WARMUP_FAILED = make_rule(
    "warm-up",
    "warmup_failed",
    "Initialization failed. warmup error",
    words="the first request, which SGLang sends itself, failed",
    sample="Initialization failed. warmup error: Traceback (most recent call last):",
)
"""What such a traceback is where no rule knows its head."""

RUNNING: tuple[Rule, ...] = (
    make_rule(
        "http-port",
        "http_port_in_use",
        "error while attempting to bind on address",
        pattern=r"attempting to bind on address \((?P<address>[^)]{1,100})\)|attempting to bind on address",
        fatal=True,
        words="the HTTP port is taken: {address}",
        sample="[Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use",
    ),
    make_rule(
        "internal-port",
        "internal_port_in_use",
        ("EADDRINUSE", "is not available in", "is used by a process already", "Address already in use"),
        pattern=r"EADDRINUSE|\w{1,40} at \d{1,5} is not available in|is used by a process already"
        r"|ZMQError: Address already in use|Address already in use",
        words="a port that SGLang's own processes talk on is taken",
        sample="ValueError: rpc_port at 31007 is not available in 30 seconds. rpc_port is used by a process already.",
    ),
    make_rule(
        "port-owner-unseen",
        "internal_port_in_use",
        "'NoneType' object has no attribute 'pid'",
        stages=frozenset({Stage.ARGS, Stage.IMPORT}),
        before="0.5.23",
        words="a port that SGLang's own processes talk on is taken by another user's process",
        sample="AttributeError: 'NoneType' object has no attribute 'pid'",
    ),
    make_rule(
        "port-not-back",
        "slow_release",
        "is in use. Waiting for",
        pattern=r"port (?P<port>\d{1,5}) is in use\. Waiting for",
        words="port {port} of an earlier server isn't free again yet",
        sample="port 31007 is in use. Waiting for 15 seconds for rpc_port to be available.",
    ),
    make_rule(
        "nccl-timeout",
        "nccl_timeout",
        (
            "caught collective operation timeout",
            "timed out in rank",
            "Timed out waiting",
            "NCCL communicator was aborted",
        ),
        pattern=r".{0,80}collective operation timeout(?:.{0,200}Timeout\(ms\)=(?P<ms>\d{1,12}))?|timed out in rank"
        r"|Timed out waiting \d{1,9}ms|NCCL communicator was aborted",
        fatal=True,
        words="a collective didn't finish within {ms} ms: the slow or stuck rank is earlier in the log by that time",
        sample="[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=151721, "
        "OpType=_ALLGATHER_BASE, NumelIn=8080, NumelOut=129280, Timeout(ms)=600000) ran for 600049 milliseconds",
    ),
    make_rule(
        "custom-all-reduce",
        "comm_feature_broken",
        ("custom_all_reduce", "nvshmem", "NVLS", "Setup Custom allreduce"),
        pattern=r"custom_all_reduce\.cuh?:\d+|nvshmem.{0,100}(?:fail|error)|NVLS.{0,100}(?:fail|error)",
        words="a faster way of communicating between GPUs doesn't work on this machine",
        sample="Failed: Cuda error /sgl-kernel/csrc/allreduce/custom_all_reduce.cuh:455 'invalid argument'",
    ),
    make_rule(
        "watchdog",
        "watchdog_timeout",
        "watchdog timeout",
        pattern=r"\w{1,60} watchdog timeout \((?:self\.)?watchdog_timeout=(?P<seconds>[\d.]{1,9})",
        fatal=True,
        words="no batch was finished for {seconds} s, and the watchdog ended it; the dump above tells where it hung",
        sample="Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)",
    ),
    make_rule(
        "warm-up-502",
        "warmup_failed",
        "res=<Response",
        pattern=r"res=<Response \[(?P<status>\d{3})\]>",
        words="the warm-up request was answered with {status}, perhaps by a proxy or another server",
        sample="AssertionError: res=<Response [502]>, res.text=''",
    ),
    make_rule(
        "health-late",
        "false_unhealthy",
        ("Health check failed", "does not match qo_indptr"),
        pattern=r"Health check failed\. Server couldn't get a response|q\.shape\[0\] .{0,20} does not match qo_indptr",
        words="the health probe wasn't answered in time; the server may only be busy",
        sample="Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.",
    ),
    make_rule(
        "terminate",
        "hang_child_died",
        "terminate called ",
        pattern=r"terminate called (?:after throwing an instance of '(?P<what>[^']{1,200})'|without an active)",
        role=Role.SYMPTOM,
        words="a process was aborted by C++ code ({what}), and the others may wait for it",
        sample="terminate called after throwing an instance of 'c10::DistBackendError'",
    ),
    make_rule(
        "device-assert",
        "cuda_illegal_access",
        "Assertion `",
        pattern=r"^\S{1,300}\.cuh?:\d{1,6}: .{0,200}Assertion `",
        fatal=True,
        words="a kernel found an index or value out of its bounds",
        sample="/pytorch/aten/src/ATen/native/cuda/ScatterGatherKernel.cu:163: operator(): block: [0,0,0], thread: "
        '[62,0,0] Assertion `idx_dim >= 0 && idx_dim < index_size && "index out of bounds"` failed.',
    ),
    make_rule(
        "device-assert-noticed",
        "cuda_illegal_access",
        "device-side assert triggered",
        role=Role.SYMPTOM,
        words="a kernel found an index or value out of its bounds; the place named here is where it was noticed",
        sample="torch.AcceleratorError: CUDA error: device-side assert triggered",
    ),
    make_rule(
        "illegal-access",
        "cuda_illegal_access",
        ("illegal memory access", "an illegal instruction", "misaligned address", "Memory access fault by GPU"),
        words="a kernel accessed memory it doesn't own; the place named here is where it was noticed",
        sample="CUDA error: an illegal memory access was encountered",
    ),
    make_rule(
        "grammar",
        "grammar_crash",
        ("xgrammar", "llguidance", "outlines"),
        pattern=r"(?:xgrammar|llguidance|outlines).{0,200}(?:Check failed|error|Error|panicked)",
        words="the grammar backend failed on a request",
        sample="RuntimeError: [12:00:00] /project/cpp/grammar_matcher.cc:430: xgrammar Check failed: bitmask.size(0)",
    ),
    make_rule(
        "known-none",
        "engine_bug",
        ("'NoneType' object", "The size of tensor a"),
        pattern=r"^TypeError: 'NoneType' object cannot be|^AttributeError: 'NoneType' object has no attribute"
        r"|The size of tensor a \(\d{1,9}\) must match the size of tensor b",
        stages=_WORKING,
        words="SGLang's own code failed; it isn't the configuration of memory",
        sample="TypeError: 'NoneType' object cannot be interpreted as an integer",
    ),
    make_rule(
        "segmentation-fault",
        "engine_bug",
        ("Segmentation fault", "Fatal Python error"),
        pattern=r"Fatal Python error: (?!Bus error)(?P<what>.{1,80})|Segmentation fault",
        reach=Reach.LINE,
        fatal=True,
        role=Role.SYMPTOM,
        words="native code crashed",
        sample="Fatal Python error: Segmentation fault",
    ),
    make_rule(
        "rendezvous",
        "hang_dist_init",
        ("waiting for clients", "client socket has timed out", "clients joined", "failed to connect to"),
        pattern=r"waiting for clients|client socket has (?:timed out|failed to connect)|clients joined",
        words="not all ranks came together: one doesn't run, or can't reach the address",
        sample="torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
    ),
    make_rule(
        "nccl-error",
        "comm_feature_broken",
        ("NCCL error", "ncclUnhandledCudaError", "ncclInternalError", "ncclInvalidUsage"),
        role=Role.SYMPTOM,
        words="NCCL failed on this machine; NCCL_DEBUG=INFO tells where",
        sample="torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3356, unhandled system error "
        "(run with NCCL_DEBUG=INFO for details), NCCL version 2.27.5",
    ),
)
