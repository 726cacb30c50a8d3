"""Lines that tell of arguments that SGLang refuses, and of models that can't be had or read."""

from __future__ import annotations

import re

from tui.diagnosis.progress import Stage
from tui.diagnosis.rule import Circumstances, Rule, make_rule

_LOADING = frozenset(
    {Stage.IMPORT, Stage.DOWNLOAD, Stage.DISTRIBUTED_INIT, Stage.WEIGHT_LOAD, Stage.MEMORY_POOL, Stage.ARGS}
)

_ARGUMENTS_FILE = re.compile(r'/(?:server_args|arg_groups/\w{1,60})\.py", line \d{1,9}, in \w{1,100}\n$', re.ASCII)


def _raised_by_arguments(at: Circumstances) -> bool:
    """The deepest frame is where SGLang checks its arguments."""
    return _ARGUMENTS_FILE.search(at.frames) is not None


ARGUMENTS: tuple[Rule, ...] = (
    make_rule(
        "unknown-flag",
        "unknown_flag",
        "error: ",
        pattern=r"^\S{1,80}(?: serve)?: error: (?P<text>(?:unrecognized arguments|argument |ambiguous option|"
        r"the following arguments are required|invalid choice).{0,300})",
        fatal=True,
        words="SGLang refused the command line: {text}",
        sample="launch_server.py: error: unrecognized arguments: --enable-reasoning",
    ),
    make_rule(
        "bad-usage",
        "incompatible_flags",
        "error: ",
        pattern=r"^(?:sglang serve|sglang|launch_server\.py): error: (?P<text>.{1,300})",
        fatal=True,
        words="SGLang refused the command line: {text}",
        sample="sglang serve: error: --config needs a file",
    ),
    make_rule(
        "block-shape",
        "parallel_shape",
        ("is not divisible by", "must be divisible by", "not divisible by tp", "is not a multiple of"),
        pattern=r"is not divisible by|must be divisible by|not divisible by tp|is not a multiple of tp",
        words="a dimension of the model can't be cut in as many parts as there are ranks",
        sample="ValueError: Weight output_partition_size = 576 is not divisible by weight quantization block_n = 128.",
    ),
    make_rule(
        "device-ordinal",
        "gpu_selection",
        ("invalid device ordinal", "Invalid device id", "device < num_gpus"),
        words="a GPU number was asked for that this process doesn't see",
        sample="CUDA error: invalid device ordinal",
    ),
    make_rule(
        "think-token",
        "incompatible_flags",
        "must encode to exactly one token",
        words="the reasoning parser doesn't belong to this model's tokenizer",
        sample="ValueError: think_end_token '</think>' must encode to exactly one token for constrained reasoning.",
    ),
    make_rule(
        "mamba-page-size",
        "incompatible_flags",
        ("mamba radix cache now", "no_buffer do not support", "when using --mamba-scheduler-strategy"),
        words="flags that this release refuses together for a hybrid model",
        sample="AssertionError: Only support page_size=1 in mamba radix cache now.",
    ),
    make_rule(
        "extra-buffer",
        "incompatible_flags",
        "extra_buffer",
        pattern=r"extra_buffer (?:is (?:only|not)|requires)",
        words="the state strategy extra_buffer can't be used here",
        sample="AssertionError: mamba extra_buffer is not compatible with --disable-radix-cache",
    ),
    make_rule(
        "no-draft-model",
        "incompatible_flags",
        ("no attribute 'set_embed", "no attribute 'get_embed_and_head'", "speculative_draft_model_path"),
        words="speculative decoding needs a draft model of its own here, and none was given",
        sample="AttributeError: 'Qwen2ForCausalLM' object has no attribute 'set_embed'",
    ),
    make_rule(
        "deepep-mode",
        "incompatible_flags",
        "deepep",
        pattern=r"deepep.{0,80}(?:not support|only support|normal mode)",
        words="the mode of DeepEP doesn't go with CUDA graphs",
        sample="AssertionError: deepep normal mode does not support cuda graph",
    ),
    make_rule(
        "context-refused",
        "context_length",
        ("is greater than the derived context_length", "User-specified context_length", "exceeds the model's max"),
        pattern=r"^(?:ValueError|AssertionError|RuntimeError): .{0,40}(?:User-specified context_length|context.length)",
        words="the context length is longer than the model's own",
        sample="ValueError: User-specified context_length (65536) is greater than the derived context_length (32768). "
        "To allow overriding this maximum, set the env var SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1",
    ),
    make_rule(
        "refused-together",
        "incompatible_flags",
        (
            "is not compatible with",
            "are mutually exclusive",
            "cannot be used together",
            "not supported with",
            "must be set",
        ),
        pattern=r"is (?:not compatible|incompatible) with|are mutually exclusive|can(?:not|'t) be (?:used together|set)"
        r"|(?:is|are) not supported with|must be (?:set|enabled|disabled) (?:when|if|to use)",
        stages=frozenset({Stage.ARGS, Stage.IMPORT}),
        words="flags that this release refuses together",
        sample="AssertionError: --enable-mixed-chunk is not compatible with speculative decoding",
    ),
    make_rule(
        "gated",
        "model_access",
        (
            "gated repo",
            "GatedRepoError",
            "RepositoryNotFoundError",
            "Client Error",
        ),
        pattern=r"40[134] Client Error.{0,300}|gated repo|GatedRepoError|RepositoryNotFoundError",
        words="the model's files can't be had from the hub: a token with access is missing, or the name is wrong",
        sample="requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/a/b",
    ),
    make_rule(
        "no-hub",
        "model_access",
        (
            "couldn't connect to 'https://huggingface.co'",
            "outgoing traffic has been disabled",
            "LocalEntryNotFoundError",
        ),
        words="the model is neither a folder here nor in the cache, and the hub can't be reached",
        sample="OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in "
        "the cached files.",
    ),
    make_rule(
        "not-a-model",
        "model_access",
        ("is not a local folder and is not a valid model identifier", "Incorrect path_or_model_id", "Repo id must"),
        words="that is neither a folder here nor a model on the hub",
        sample="OSError: /models/nothing is not a local folder and is not a valid model identifier listed on "
        "'https://huggingface.co/models'",
    ),
    make_rule(
        "shard-broken",
        "model_files_corrupt",
        ("deserializing header", "SafetensorError", "PytorchStreamReader failed", "incomplete metadata"),
        words="a weight file is incomplete or damaged",
        sample="Error while deserializing header: incomplete metadata, file not fully covered",
    ),
    make_rule(
        "no-weights",
        "model_files_corrupt",
        (
            "Cannot find any model weights",
            "does not appear to have a file named config.json",
            "Consistency check failed",
        ),
        words="files of the model are missing",
        sample="RuntimeError: Cannot find any model weights with `/models/m`",
    ),
    make_rule(
        "architecture",
        "arch_unsupported",
        (
            "Unrecognized model in",
            "is not supported for now",
            "does not recognize this architecture",
            "are not supported",
        ),
        pattern=r"Unrecognized model in|Model architectures? .{0,200} (?:is|are) not supported"
        r"|does not recognize this architecture|has no SGLang implementation",
        words="this release, or its transformers, doesn't know the model's architecture",
        sample="ValueError: Unrecognized model in model-dir. Should have a `model_type` key in its config.json",
    ),
    make_rule(
        "weight-key",
        "weight_mismatch",
        ("KeyError", "size of tensor", "shape mismatch", "Unexpected key", "loaded_weight", "size mismatch"),
        pattern=r"^KeyError: '?(?:[\w]{1,60}\.)+[\w]{1,60}'?|The size of tensor a \(\d+\) must match|shape mismatch"
        r"|loaded_weight\.|size mismatch for|AssertionError: .{0,200}param",
        stages=frozenset({Stage.WEIGHT_LOAD, Stage.DISTRIBUTED_INIT}),
        words="the checkpoint doesn't fit the class that loads it: other names, shapes or quantisation",
        sample="KeyError: 'model.layers.78.mlp.gate_up_proj.input_scale'",
    ),
    make_rule(
        "processor",
        "tokenizer_or_template",
        (
            "Can't load image processor",
            "Can't load tokenizer",
            "Can't load the processor",
            "Can't load feature extractor",
        ),
        words="the model's tokenizer or image processor can't be loaded: files of it are missing",
        sample="OSError: Can't load image processor for 'model/q35'. If you were trying to load it from",
    ),
    make_rule(
        "chat-template",
        "tokenizer_or_template",
        ("chat template", "chat_template", "expected string or bytes-like object", "sentencepiece", "Tokenizer class"),
        pattern=r"Cannot use chat template|chat_template is not set|expected string or bytes-like object"
        r"|Tokenizer class \S{1,80} does not exist|[Cc]hat template .{0,80}(?:not|fail)",
        words="the chat template or tokenizer is missing or of another kind than this release reads",
        sample="ValueError: Cannot use chat template functions because tokenizer.chat_template is not set",
    ),
    make_rule(
        "config-unreadable",
        "model_files_corrupt",
        ("Can't load the configuration of", "is not a valid JSON file", "JSONDecodeError"),
        stages=_LOADING,
        words="the model's config can't be read",
        sample="OSError: It looks like the config file at '/models/m/config.json' is not a valid JSON file.",
    ),
    make_rule(
        "own-code",
        "arch_unsupported",
        "trust_remote_code",
        words="the model brings its own code, which is run only with --trust-remote-code",
        sample="ValueError: The repository for /models/m contains custom code which must be executed to correctly load "
        "the model. Please pass the argument `trust_remote_code=True` to allow custom code to be run.",
    ),
    make_rule(
        "tokenizer-unloadable",
        "tokenizer_or_template",
        ("instantiate the backend tokenizer", "Unrecognized processing class", "Can't instantiate a processor"),
        words="the model's tokenizer or processor can't be made from its files",
        sample="ValueError: Couldn't instantiate the backend tokenizer from one of: (1) a `tokenizers` library "
        "serialization file",
    ),
    make_rule(
        "refused-arguments",
        "incompatible_flags",
        ("AssertionError", "ValueError", "NotImplementedError"),
        pattern=r"^(?:AssertionError|ValueError|NotImplementedError): (?P<text>.{1,300})",
        when=_raised_by_arguments,
        words="SGLang refused the arguments: {text}",
        sample="AssertionError: Please enable dp attention when setting moe-dense-tp-size",
    ),
)
