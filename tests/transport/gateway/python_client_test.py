#!/usr/bin/python3
"""A plain gRPC client in Python calls a gateway: without generated code, and without any of ours.

Needs python3-grpcio, so the target is manual: .ci/long python installs it.
"""

import os
import queue
import signal
import subprocess
import threading
import unittest

import grpc

SERVER = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/transport/gateway/desk_server")
WITHIN = 60


def field(number, payload):
    """A length-delimited protobuf field of fewer than 128 bytes."""
    return bytes([number << 3 | 2, len(payload)]) + payload


def number(number, value):
    """A varint protobuf field with a value below 128."""
    return bytes([number << 3, value])


def text(value):
    """desk.Text"""
    return field(1, value.encode())


class PythonClientTest(unittest.TestCase):
    def setUp(self):
        self.server = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.channel = grpc.insecure_channel(self.server.stdout.readline().strip())
        # The desk may still be starting.
        while self.health("desk.Desk") != 1:
            pass

    def tearDown(self):
        self.channel.close()
        self.server.stdin.close()
        self.assertEqual(self.server.wait(WITHIN), 0)
        self.server.stdout.close()

    def call(self, method, request, **options):
        return self.channel.unary_unary(method)(request, timeout=options.pop("timeout", WITHIN), **options)

    def error(self, method, request, **options):
        with self.assertRaises(grpc.RpcError) as raised:
            self.call(method, request, **options)
        return raised.exception

    def health(self, service):
        """The number of the ServingStatus."""
        reply = self.call("/grpc.health.v1.Health/Check", field(1, service.encode()) if service else b"")
        self.assertEqual(reply[:1], b"\x08")
        return reply[1]

    def reason(self, error):
        """What grpc-status-details-bin says."""
        details = dict(error.trailing_metadata())["grpc-status-details-bin"]
        self.assertIn(b"type.googleapis.com/google.rpc.ErrorInfo", details)
        self.assertIn(b"understudy", details)
        return details

    def test_a_unary_call_is_answered(self):
        self.assertEqual(self.call("/desk.Desk/Echo", text("hello")), text("hello"))

    def test_a_cast_is_answered_until_the_mailbox_is_full(self):
        self.assertEqual(self.call("/desk.Desk/Open", b""), b"")  # is_open = false
        self.assertEqual(self.call("/desk.Desk/Note", text("one")), b"")
        self.assertEqual(self.call("/desk.Desk/Note", text("two")), b"")
        full = self.error("/desk.Desk/Note", text("three"))
        self.assertEqual(full.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertIn(b"FULL", self.reason(full))

    def test_a_deadline_ends_the_call(self):
        late = self.error("/desk.Desk/Wait", text("late"), timeout=0.2)
        self.assertEqual(late.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertEqual(self.call("/desk.Desk/Echo", text("next")), text("next"))

    def waiting_call(self):
        """A call of Wait that the desk has."""
        call = self.channel.unary_unary("/desk.Desk/Wait").future(text("never"), timeout=WITHIN)
        self.assertEqual(self.server.stdout.readline(), "waits\n")
        return call

    def test_a_cancelled_call_ends_at_the_actor_and_the_gateway_goes_on(self):
        call = self.waiting_call()
        call.cancel()
        self.assertEqual(call.code(), grpc.StatusCode.CANCELLED)
        self.assertEqual(self.server.stdout.readline(), "cancelled\n")
        self.assertEqual(self.call("/desk.Desk/Echo", text("next")), text("next"))

    def count(self, items, *more, **options):
        """A stream of items; `more` are further fields of desk.CountRequest."""
        request = number(1, items) + b"".join(more)
        return self.channel.unary_stream("/desk.Desk/Count")(request, timeout=options.pop("timeout", WITHIN))

    def test_a_stream_gives_its_items_and_then_its_end(self):
        self.assertEqual(list(self.count(100)), [text("%d " % i) for i in range(100)])
        ended = self.count(2, field(4, number(1, 9) + field(2, b"closed")))
        self.assertEqual([next(ended), next(ended)], [text("0 "), text("1 ")])
        with self.assertRaises(grpc.RpcError) as raised:
            next(ended)
        self.assertEqual((raised.exception.code(), raised.exception.details()),
                         (grpc.StatusCode.FAILED_PRECONDITION, "closed"))

    def test_a_stream_is_cancelled_and_ends_at_its_deadline(self):
        cancelled = self.count(1, number(5, 1))
        self.assertEqual(next(cancelled), text("0 "))
        cancelled.cancel()
        self.assertEqual(cancelled.code(), grpc.StatusCode.CANCELLED)
        late = self.count(1, number(5, 1), timeout=0.5)
        with self.assertRaises(grpc.RpcError) as raised:
            list(late)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertEqual(self.call("/desk.Desk/Echo", text("next")), text("next"))

    def collect(self, parcels, **options):
        """An upload of desk.Parcels."""
        return self.channel.stream_unary("/desk.Desk/Collect")(parcels, timeout=options.pop("timeout", WITHIN))

    def test_an_upload_is_answered_when_it_ends(self):
        self.assertEqual(self.collect(text("%d " % i) for i in range(100)), text("100 parcels"))
        self.assertEqual(self.collect(iter(())), text("0 parcels"))

    def test_an_upload_is_answered_before_its_end(self):
        def endless():
            yield text("0 ") + field(3, b"")
            while True:
                yield text("1 ")

        self.assertEqual(self.collect(endless()), text("0 parcels"))
        ended = field(3, number(1, 9) + field(2, b"closed"))
        with self.assertRaises(grpc.RpcError) as raised:
            self.collect(iter([text("0 "), text("1 ") + ended]))
        self.assertEqual((raised.exception.code(), raised.exception.details()),
                         (grpc.StatusCode.FAILED_PRECONDITION, "closed"))

    def test_an_upload_ends_at_its_deadline(self):
        parked = threading.Event()

        def parcels():
            yield text("0 ") + number(2, 1)
            parked.wait(WITHIN)

        with self.assertRaises(grpc.RpcError) as raised:
            self.collect(parcels(), timeout=0.5)
        parked.set()
        self.assertEqual(raised.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertEqual(self.call("/desk.Desk/Echo", text("next")), text("next"))

    def test_a_conversation_has_answers_while_items_go(self):
        said = queue.SimpleQueue()
        answers = self.channel.stream_stream("/desk.Desk/Converse")(iter(said.get, None), timeout=WITHIN)
        for i in range(100):
            said.put(text("%d " % i))
            self.assertEqual(next(answers), text("%d " % i))
        said.put(None)
        self.assertEqual(list(answers), [])

    def test_errors_are_statuses(self):
        provoke = "/desk.Desk/Provoke"
        mine = self.error(provoke, number(1, 9) + field(2, b"closed"))
        self.assertEqual((mine.code(), mine.details()), (grpc.StatusCode.FAILED_PRECONDITION, "closed"))
        dropped = self.error(provoke, number(4, 1))
        self.assertEqual(dropped.code(), grpc.StatusCode.INTERNAL)
        self.assertIn(b"UNANSWERED", self.reason(dropped))
        optional = self.error("/desk.Desk/Extra", b"")
        self.assertEqual(optional.code(), grpc.StatusCode.UNIMPLEMENTED)
        self.assertIn(b"NO_MAILBOX", self.reason(optional))
        self.assertEqual(self.error("/desk.Desk/Burn", b"").code(), grpc.StatusCode.UNIMPLEMENTED)
        self.assertEqual(self.error("/desk.Desk/Echo", b"\x0a\xff").code(), grpc.StatusCode.INTERNAL)

    def test_health_follows_the_actor_and_its_supervisor(self):
        crash = number(3, 1)
        self.assertEqual(self.error("/desk.Desk/Provoke", crash).code(), grpc.StatusCode.ABORTED)
        # The first restart is immediate, the second one waits an hour.
        while self.error("/desk.Desk/Provoke", crash).code() == grpc.StatusCode.UNAVAILABLE:
            pass
        down = self.error("/desk.Desk/Echo", text("down"))
        self.assertEqual(down.code(), grpc.StatusCode.UNAVAILABLE)
        self.assertIn(b"RESTARTING", self.reason(down))
        self.assertEqual(self.health("desk.Desk"), 2)
        self.assertEqual(self.health(""), 1)

    def drain(self):
        """Sends SIGTERM, and waits until health says NOT_SERVING."""
        watch = self.channel.unary_stream("/grpc.health.v1.Health/Watch")(b"")
        self.assertEqual(next(watch), b"\x08\x01")
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(next(watch), b"\x08\x02")

    def test_sigterm_drains(self):
        self.drain()
        self.assertEqual(self.server.wait(WITHIN), 0)

    def test_a_drain_lets_a_conversation_end(self):
        said = queue.SimpleQueue()
        answers = self.channel.stream_stream("/desk.Desk/Converse")(iter(said.get, None), timeout=WITHIN)
        said.put(text("0 "))
        self.assertEqual(next(answers), text("0 "))
        self.drain()
        self.assertIsNone(self.server.poll())
        said.put(text("1 "))
        self.assertEqual(next(answers), text("1 "))
        said.put(None)
        self.assertEqual(list(answers), [])
        self.assertEqual(answers.code(), grpc.StatusCode.OK)
        self.assertEqual(self.server.wait(WITHIN), 0)

    def test_a_drain_waits_for_a_call_which_its_client_may_cancel(self):
        call = self.waiting_call()
        self.drain()
        self.assertFalse(call.done())
        self.assertIsNone(self.server.poll())
        call.cancel()
        self.assertEqual(self.server.stdout.readline(), "cancelled\n")
        self.assertEqual(self.server.wait(WITHIN), 0)


if __name__ == "__main__":
    unittest.main()
