"""Which tests `.ci/run` leaves out under a sanitizer, and `.ci/long` runs there.

A test without these tags runs under both. `./bazelw test --config=tsan TARGET` heeds no tag.
"""

load("//bazel:understudy.bzl", "understudy_test")

# One thread runs all of the test: ThreadSanitizer has no second one to see.
ONE_THREAD = ["long-tsan"]

# Values, state machines and actors on one thread that use no memory in a way of their own: AddressSanitizer sees the same code
# again in other tests, those of what is built on it or of the mailboxes, asks, restarts and ends that every actor has.
VALUES = ONE_THREAD + ["long-asan"]

# Threads and what they hand to each other. ThreadSanitizer reports here the use of freed memory too; AddressSanitizer's other
# findings are looked for in the tests that run under both.
THREADS = ["long-asan"]

def sanitizer_tags(name, one_thread = [], values = [], threads = []):
    """The tags of the test `name`: VALUES, ONE_THREAD or THREADS if it is in that list of names."""
    if name in values:
        return VALUES
    if name in one_thread:
        return ONE_THREAD
    return THREADS if name in threads else []

def one_thread_test(tags = [], **kwargs):
    """understudy_test of what one thread runs."""
    understudy_test(tags = tags + ONE_THREAD, **kwargs)

def value_test(tags = [], **kwargs):
    """understudy_test of values, or of a state machine on one thread."""
    understudy_test(tags = tags + VALUES, **kwargs)

def grpc_callback_test(data = [], **kwargs):
    """understudy_test of code that gRPC's callback API calls.

    What such code shares with other threads is handed over inside libgrpc++, where ThreadSanitizer sees no order.
    """
    understudy_test(
        data = data + ["//tests:grpc_callbacks_tsan.txt"],
        env = {"TSAN_OPTIONS": "suppressions=tests/grpc_callbacks_tsan.txt"},
        **kwargs
    )
