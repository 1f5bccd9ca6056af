"""A test of actors, with what nearly all of them use."""

load("//bazel:understudy.bzl", "understudy_test")
load("//tests:sanitizers.bzl", "sanitizer_tags")

# Of the tests that are declared here or in a list: see sanitizers.bzl. A test that is in neither runs under both sanitizers.
_ONE_THREAD = [
    "ask_test",
    "become_test",
    "behavior_test",
    "cancellation_test",
    "crash_report_test",
    "unhandled_mail_test",
    "exit_test",
    "handed_test",
    "handler_test",
    "letting_go_test",
    "mailbox_test",
    "owner_turn_test",
    "postponed_mail_test",
    "process_style_test",
    "receive_events_test",
    "replier_test",
    "send_throws_test",
    "service_class_test",
    "shutdown_timeout_test",
    "start_test",
    "task_stack_test",
    "testing_test",
]
_VALUES = [
    "actors_max_test",
    "ask_close_test",
    "ask_table_test",
    "classifier_test",
    "clause_test",
    "dead_letters_test",
    "early_mail_test",
    "exit_limits_test",
    "mailbox_array_test",
    "mailbox_bytes_test",
    "mailbox_mock_test",
    "mailbox_options_test",
    "mailbox_sets_test",
    "name_test",
    "name_watch_test",
    "one_way_link_test",
    "postpone_test",
    "router_test",
    "service_form_test",
    "state_timeouts_test",
    "stop_request_test",
    "timer_test",
    "timer_wheel_test",
    "wait_graph_test",
]
_THREADS = [
    "await_start_test",
    "blocking_actors_test",
    "call_cycle_test",
    "gone_test",
    "lockfree_test",
    "log_sink_test",
    "mailbox_watch_test",
    "order_test",
    "own_threads_test",
    "predicate_threads_test",
    "run_queue_test",
    "start_timeout_test",
    "stuck_watch_test",
    "thread_pool_stuck_test",
    "timer_thread_test",
]

# They use up what a process has, or read a name that is another in a joined test (bazel/joined.bzl).
_ALONE = ["crash_report_test", "fatal_signals_test", "mailbox_sets_test"]

_DEPS = [
    "//actors:api",
    "//actors:base",
    "//actors:ids",
    "//actors:testing",
    "@com_google_absl//absl/status",
    "@com_google_absl//absl/status:statusor",
    "@com_google_absl//absl/strings",
    "@com_google_absl//absl/time",
]

def tags_of(name):
    """The tags of the test `name`."""
    return sanitizer_tags(name, one_thread = _ONE_THREAD, values = _VALUES, threads = _THREADS)

def actor_test(name, deps = [], **kwargs):
    """understudy_test of `name`.cc.

    Args:
      name: of the test, and of its file.
      deps: besides those above.
      **kwargs: passed on.
    """
    understudy_test(
        name = name,
        srcs = [name + ".cc"],
        deps = _DEPS + deps,
        tags = tags_of(name) + (["alone"] if name in _ALONE else []),
        **kwargs
    )
