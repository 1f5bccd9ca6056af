"""@com_google_absl over Debian's libabsl-dev: the targets of Abseil's own BUILD files, by table."""

load(":system_repository.bzl", "pkg_config_libs", "symlink_header")

_PACKAGE = "libabsl-dev"

# package -> target -> headers. The pkg-config module is absl_<target>, save those in _PKG_CONFIG.
_TARGETS = {
    "algorithm": {
        "algorithm": ["algorithm.h"],
        "container": ["container.h"],
    },
    "base": {
        "base": ["call_once.h", "casts.h"],
        "config": ["config.h", "options.h", "policy_checks.h"],
        "core_headers": ["attributes.h", "const_init.h", "macros.h", "optimization.h", "port.h", "thread_annotations.h"],
        "dynamic_annotations": ["dynamic_annotations.h"],
        "log_severity": ["log_severity.h"],
        # Upstream keeps it to itself; it is the only way to log before main and in signal handlers.
        "raw_logging_internal": ["internal/raw_logging.h"],
    },
    "cleanup": {"cleanup": ["cleanup.h"]},
    "container": {
        "btree": ["btree_map.h", "btree_set.h"],
        "fixed_array": ["fixed_array.h"],
        "flat_hash_map": ["flat_hash_map.h"],
        "flat_hash_set": ["flat_hash_set.h"],
        "inlined_vector": ["inlined_vector.h"],
        "node_hash_map": ["node_hash_map.h"],
        "node_hash_set": ["node_hash_set.h"],
    },
    "debugging": {
        "failure_signal_handler": ["failure_signal_handler.h"],
        "leak_check": ["leak_check.h"],
        "stacktrace": ["stacktrace.h"],
        "symbolize": ["symbolize.h"],
    },
    "flags": {
        "commandlineflag": ["commandlineflag.h"],
        "config": ["usage_config.h"],
        "flag": ["config.h", "declare.h", "flag.h"],
        "marshalling": ["marshalling.h"],
        "parse": ["parse.h"],
        "reflection": ["reflection.h"],
        "usage": ["usage.h"],
    },
    "functional": {
        "any_invocable": ["any_invocable.h"],
        "bind_front": ["bind_front.h"],
        "function_ref": ["function_ref.h"],
    },
    "hash": {
        "hash": ["hash.h"],
        "hash_testing": ["hash_testing.h"],
    },
    "memory": {"memory": ["memory.h"]},
    "meta": {"type_traits": ["type_traits.h"]},
    "numeric": {
        "bits": ["bits.h"],
        "int128": ["int128.h"],
    },
    "random": {
        "bit_gen_ref": ["bit_gen_ref.h"],
        "distributions": [
            "bernoulli_distribution.h",
            "beta_distribution.h",
            "discrete_distribution.h",
            "distributions.h",
            "exponential_distribution.h",
            "gaussian_distribution.h",
            "log_uniform_int_distribution.h",
            "poisson_distribution.h",
            "uniform_int_distribution.h",
            "uniform_real_distribution.h",
            "zipf_distribution.h",
        ],
        "random": ["random.h"],
        "seed_gen_exception": ["seed_gen_exception.h"],
        "seed_sequences": ["seed_sequences.h"],
    },
    "status": {
        "status": ["status.h", "status_payload_printer.h"],
        "statusor": ["statusor.h"],
    },
    "strings": {
        "cord": ["cord.h", "cord_analysis.h", "cord_buffer.h"],
        "str_format": ["str_format.h"],
        "strings": [
            "ascii.h",
            "charconv.h",
            "escaping.h",
            "match.h",
            "numbers.h",
            "str_cat.h",
            "str_join.h",
            "str_replace.h",
            "str_split.h",
            "string_view.h",
            "strip.h",
            "substitute.h",
        ],
    },
    "synchronization": {
        "synchronization": ["barrier.h", "blocking_counter.h", "mutex.h", "notification.h"],
    },
    "time": {
        "time": ["civil_time.h", "clock.h", "time.h"],
    },
    "types": {
        "any": ["any.h"],
        "bad_any_cast": ["bad_any_cast.h"],
        "bad_optional_access": ["bad_optional_access.h"],
        "bad_variant_access": ["bad_variant_access.h"],
        "compare": ["compare.h"],
        "optional": ["optional.h"],
        "span": ["span.h"],
        "variant": ["variant.h"],
    },
    "utility": {"utility": ["utility.h"]},
}

# The empty name: nothing to link, or no module of its own.
_PKG_CONFIG = {
    "algorithm:container": "absl_algorithm_container",
    "flags:commandlineflag": "absl_flags_commandlineflag",
    "flags:config": "absl_flags_config",
    "flags:flag": "absl_flags",
    "flags:marshalling": "absl_flags_marshalling",
    "flags:parse": "absl_flags_parse",
    "flags:reflection": "absl_flags_reflection",
    "flags:usage": "absl_flags_usage",
    "hash:hash_testing": "absl_hash",
    "random:bit_gen_ref": "absl_random_bit_gen_ref",
    "random:distributions": "absl_random_distributions",
    "random:random": "absl_random_random",
    "random:seed_gen_exception": "absl_random_seed_gen_exception",
    "random:seed_sequences": "absl_random_seed_sequences",
}

def _system_absl_impl(ctx):
    for package, targets in _TARGETS.items():
        build = ['package(default_visibility = ["//visibility:public"])']
        for target, headers in targets.items():
            for header in headers:
                symlink_header(ctx, "absl/%s/%s" % (package, header), _PACKAGE)
            module = _PKG_CONFIG.get(package + ":" + target, "absl_" + target)
            build.append("""
cc_library(
    name = "{target}",
    hdrs = {headers},
    linkopts = {linkopts},
)
""".format(target = target, headers = repr(headers), linkopts = repr(pkg_config_libs(ctx, module, _PACKAGE))))
        ctx.file("absl/%s/BUILD" % package, "\n".join(build))

system_absl = repository_rule(
    implementation = _system_absl_impl,
    doc = "Headers stay where they are; only public ones are symlinked, so layering_check refuses the internal ones.",
)
