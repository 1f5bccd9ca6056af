#!/usr/bin/python3
"""A customer in Python: plain gRPC, without any of our code, and without generated code.

Needs python3-grpcio, so the target is manual: .ci/long python installs it.
"""

import os
import signal
import subprocess
import tempfile
import unittest

import grpc

SHOP = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "examples/shop/shop_node")
WITHIN = 60
PENDING, PAID, SHIPPED, CANCELLED = 1, 2, 3, 4


def text(number, value):
    """A string field of a message, of fewer than 128 bytes."""
    return bytes([number << 3 | 2, len(value)]) + value.encode()


def place(order, sku="sku-0", items=1):
    """shop.PlaceRequest"""
    return text(1, order) + text(2, sku) + bytes([3 << 3, items])


def state(reply):
    """The state of a shop.OrderStatus: its last field, a varint."""
    assert reply[-2] == 4 << 3, reply
    return reply[-1]


class PythonCustomerTest(unittest.TestCase):
    def setUp(self):
        journal = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        self.shop = subprocess.Popen(
            [SHOP, f"--journal={journal}", "--items=2", "--pay_within=1s"], stdout=subprocess.PIPE, text=True
        )
        self.channel = grpc.insecure_channel(self.shop.stdout.readline().strip())
        while not self.is_serving():
            pass

    def tearDown(self):
        self.shop.send_signal(signal.SIGTERM)
        self.assertEqual(self.shop.wait(WITHIN), 0)
        self.channel.close()
        self.shop.stdout.close()

    def is_serving(self):
        """Whether grpc.health.v1 says that the shop is serving, which is so once its actor has started."""
        health = self.channel.unary_unary("/grpc.health.v1.Health/Check")
        return health(text(1, "shop.Shop"), timeout=WITHIN) == b"\x08\x01"

    def call(self, rpc, request):
        """Repeats the call while its outcome is unknown, as every customer does."""
        while True:
            try:
                return self.channel.unary_unary(f"/shop.Shop/{rpc}")(request, timeout=WITHIN)
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise

    def code(self, rpc, request):
        with self.assertRaises(grpc.RpcError) as raised:
            self.call(rpc, request)
        return raised.exception.code()

    def test_an_order_is_placed_paid_and_shipped(self):
        self.assertEqual(state(self.call("Place", place("a"))), PENDING)
        self.assertEqual(self.code("Ship", text(1, "a")), grpc.StatusCode.FAILED_PRECONDITION)
        self.assertEqual(state(self.call("Pay", text(1, "a"))), PAID)
        self.assertEqual(state(self.call("Ship", text(1, "a"))), SHIPPED)
        self.assertEqual(state(self.call("Ship", text(1, "a"))), SHIPPED)

    def test_an_unpaid_order_is_cancelled_and_its_items_are_free_again(self):
        self.assertEqual(state(self.call("Place", place("a", items=2))), PENDING)
        self.assertEqual(self.code("Place", place("b")), grpc.StatusCode.FAILED_PRECONDITION)
        while state(self.call("Inquire", text(1, "a"))) == PENDING:
            pass
        self.assertEqual(state(self.call("Inquire", text(1, "a"))), CANCELLED)

    def test_errors_are_statuses(self):
        self.assertEqual(self.code("Place", place("a", sku="gold")), grpc.StatusCode.NOT_FOUND)
        self.assertEqual(self.code("Place", place("a b")), grpc.StatusCode.INVALID_ARGUMENT)
        self.assertEqual(state(self.call("Place", place("c", items=1))), PENDING)
        self.assertEqual(self.code("Place", place("c", items=2)), grpc.StatusCode.ALREADY_EXISTS)


if __name__ == "__main__":
    unittest.main()
