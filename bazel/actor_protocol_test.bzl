"""actor_protocol_test: a change of a .proto service must not break peers that are not updated (tools/actor_protocol)."""

load(":cc_actor_library.bzl", "path_in_import")

_Sources = provider(
    doc = "The .proto files of a proto_library and of all that it imports.",
    fields = {"files": "depset of struct(import_path, file): how others import it, and the file in the source tree"},
)

def _sources_impl(target, ctx):
    proto = target[ProtoInfo]

    # proto_library copies its sources to where they are imported from. A person edits the originals.
    originals = ctx.rule.files.srcs if hasattr(ctx.rule.files, "srcs") else []
    if len(originals) != len(proto.direct_sources):
        originals = proto.direct_sources
    return [_Sources(files = depset(
        [
            struct(import_path = path_in_import(source), file = original)
            for source, original in zip(proto.direct_sources, originals)
        ],
        transitive = [dep[_Sources].files for dep in getattr(ctx.rule.attr, "deps", [])],
    ))]

_sources = aspect(
    implementation = _sources_impl,
    attr_aspects = ["deps"],
)

def _quote(text):
    return "'%s'" % text.replace("'", "'\\''")

def _actor_protocol_impl(ctx):
    proto = ctx.attr.proto[ProtoInfo]
    if not proto.direct_sources:
        fail("%s has no .proto files of its own: name the proto_library that has the services" % ctx.attr.proto.label)
    sources = ctx.attr.proto[_Sources].files.to_list()
    name = str(ctx.label) if ctx.attr.mode == "update" else str(ctx.label) + ".update"
    arguments = [
        ctx.attr.mode,
        "--update_command=bazel run " + name,
        "--baseline=" + ctx.attr.baseline,
    ]
    arguments += ["--file=" + path_in_import(file) for file in proto.direct_sources]
    arguments += ["--source=%s=%s" % (source.import_path, source.file.short_path) for source in sources]
    script = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(
        script,
        "#!/bin/bash\nexec %s \\\n  %s\n" % (
            _quote(ctx.executable._tool.short_path),
            " \\\n  ".join([_quote(argument) for argument in arguments]),
        ),
        is_executable = True,
    )
    runfiles = ctx.runfiles(files = [source.file for source in sources] + ctx.files.present)
    return [DefaultInfo(
        executable = script,
        runfiles = runfiles.merge(ctx.attr._tool[DefaultInfo].default_runfiles),
    )]

_ATTRS = {
    "proto": attr.label(mandatory = True, providers = [ProtoInfo], aspects = [_sources]),
    "baseline": attr.string(mandatory = True, doc = "Its path from the root of the workspace."),
    "present": attr.label_list(allow_files = True, doc = "The baseline, if it is there."),
    "mode": attr.string(mandatory = True, values = ["check", "update"]),
    "_tool": attr.label(
        default = "//tools/actor_protocol",
        executable = True,
        cfg = "target",
    ),
}

_check_test = rule(implementation = _actor_protocol_impl, attrs = _ATTRS, test = True)

_update = rule(implementation = _actor_protocol_impl, attrs = _ATTRS, executable = True)

def actor_protocol_test(name, proto, baseline, size = "small", tags = [], visibility = None, **kwargs):
    """A test that fails when a change of a .proto service breaks peers that are not updated.

    It compares the services of `proto`, and all messages that they use, with `baseline`: what old peers have, as a
    text that belongs in version control. The test says each thing that breaks, and for whom; additions pass. The
    first baseline is written, and a change accepted, by

        bazel run //package:NAME.update

    Args:
      name: of the test.
      proto: the proto_library with the services.
      baseline: a file of this package, such as "auction.protocol.textproto"; it need not be there yet.
      size: of the test.
      tags: of both targets.
      visibility: of both targets.
      **kwargs: passed to the test rule.
    """
    file = baseline[1:] if baseline.startswith(":") else baseline
    if ":" in file or file.startswith("/"):
        fail("actor_protocol_test %s: baseline is %s: expected a file of this package, without a label" % (name, baseline))
    shared = {
        "proto": proto,
        "baseline": native.package_name() + "/" + file if native.package_name() else file,
        "present": native.glob([file], allow_empty = True),
        "tags": tags,
        "visibility": visibility,
    }
    _check_test(name = name, mode = "check", size = size, **dict(shared, **kwargs))
    _update(name = name + ".update", mode = "update", testonly = True, **shared)
