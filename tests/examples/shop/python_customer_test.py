#!/usr/bin/python3
"""examples/shop/customer.py against a shop.

Needs python3-grpcio and python3-protobuf, so the target is manual: .ci/long python installs them.
"""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

import grpc

EXAMPLE = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "examples/shop")
sys.path.insert(0, EXAMPLE)

from customer import Customer  # noqa: E402
from shop_pb2 import OrderStatus  # noqa: E402

WITHIN = 60


class PythonCustomerTest(unittest.TestCase):
    def setUp(self):
        journal = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        self.shop = subprocess.Popen(
            [f"{EXAMPLE}/shop_node", f"--journal={journal}", "--items=2", "--pay_within=1s"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = self.shop.stdout.readline().strip()
        self.channel = grpc.insecure_channel(self.address)
        self.customer = Customer(self.channel, WITHIN)
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
        return health(b"\x0a\x09shop.Shop", timeout=WITHIN) == b"\x08\x01"

    def assert_fails(self, code, step, *arguments):
        with self.assertRaises(grpc.RpcError) as raised:
            step(*arguments)
        self.assertEqual(raised.exception.code(), code)

    def test_an_order_is_placed_paid_and_shipped(self):
        customer = self.customer
        self.assertEqual(customer.place("a", "sku-0", 1).state, OrderStatus.PENDING)
        self.assert_fails(grpc.StatusCode.FAILED_PRECONDITION, customer.ship, "a")
        self.assertEqual(customer.pay("a").state, OrderStatus.PAID)
        self.assertEqual(customer.ship("a").state, OrderStatus.SHIPPED)
        self.assertEqual(customer.ship("a").state, OrderStatus.SHIPPED)

    def test_an_unpaid_order_is_cancelled_and_its_items_are_free_again(self):
        customer = self.customer
        self.assertEqual(customer.place("a", "sku-0", 2).state, OrderStatus.PENDING)
        self.assert_fails(grpc.StatusCode.FAILED_PRECONDITION, customer.place, "b", "sku-0", 1)
        while customer.inquire("a").state == OrderStatus.PENDING:
            pass
        self.assertEqual(customer.inquire("a").state, OrderStatus.CANCELLED)

    def test_errors_are_statuses(self):
        customer = self.customer
        self.assert_fails(grpc.StatusCode.NOT_FOUND, customer.place, "a", "gold", 1)
        self.assert_fails(grpc.StatusCode.INVALID_ARGUMENT, customer.place, "a b", "sku-0", 1)
        self.assertEqual(customer.place("c", "sku-0", 1).state, OrderStatus.PENDING)
        self.assert_fails(grpc.StatusCode.ALREADY_EXISTS, customer.place, "c", "sku-0", 2)

    def test_as_a_program_it_tells_each_step_and_the_first_error(self):
        def run(*arguments):
            command = [sys.executable, f"{EXAMPLE}/customer.py", self.address, *arguments]
            return subprocess.run(command, env={"PYTHONPATH": EXAMPLE}, capture_output=True, text=True, timeout=WITHIN)

        done = run("d", "sku-0", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "".join(f"d: 2 of sku-0, {state}\n" for state in ("PENDING", "PAID", "SHIPPED")))
        refused = run("e", "gold", "1")
        self.assertEqual(refused.returncode, 1)
        self.assertTrue(refused.stderr.startswith("NOT_FOUND: "), refused.stderr)


if __name__ == "__main__":
    unittest.main()
