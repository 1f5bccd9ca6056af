#!/usr/bin/python3
"""A customer of the shop in Python: plain gRPC and the messages that protoc makes of shop.proto.

    protoc --python_out=/tmp --proto_path=examples/shop shop.proto
    PYTHONPATH=/tmp examples/shop/customer.py 127.0.0.1:8080 order-1 sku-0 2

places an order of two items, pays it and has it shipped. Needs protobuf-compiler, python3-protobuf and python3-grpcio.
"""

import sys
import time

import grpc
from shop_pb2 import OrderRequest, OrderStatus, PlaceRequest

# With these codes a call may or may not have been done. Each call of the shop may be repeated, so it is.
UNKNOWN = (
    grpc.StatusCode.UNAVAILABLE,  # also: the shop drains, or what answers is being restarted
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,  # too many calls wait
)
TRY_WITHIN = 5  # seconds
PAUSE = 0.02  # seconds, before a call is repeated


class Customer:
    """Calls shop.Shop.

    Each method returns an OrderStatus, or raises grpc.RpcError with a code that shop.proto names.
    """

    def __init__(self, channel, within=60):
        """`within`: the seconds that a call takes at most, with all its repetitions."""
        self._channel = channel
        self._within = within

    def place(self, order, sku, items):
        return self._call("Place", PlaceRequest(order=order, sku=sku, items=items))

    def pay(self, order):
        return self._call("Pay", OrderRequest(order=order))

    def ship(self, order):
        return self._call("Ship", OrderRequest(order=order))

    def inquire(self, order):
        return self._call("Inquire", OrderRequest(order=order))

    def _call(self, rpc, request):
        call = self._channel.unary_unary(
            f"/shop.Shop/{rpc}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=OrderStatus.FromString,
        )
        deadline = time.monotonic() + self._within
        while True:
            try:
                return call(request, timeout=min(TRY_WITHIN, deadline - time.monotonic()))
            except grpc.RpcError as error:
                if error.code() not in UNKNOWN or time.monotonic() + PAUSE >= deadline:
                    raise
            time.sleep(PAUSE)


def main(address, order, sku, items):
    with grpc.insecure_channel(address) as channel:
        customer = Customer(channel)
        steps = (
            lambda: customer.place(order, sku, int(items)),
            lambda: customer.pay(order),
            lambda: customer.ship(order),
        )
        for step in steps:
            try:
                status = step()
            except grpc.RpcError as error:
                return f"{error.code().name}: {error.details()}"
            print(f"{status.order}: {status.items} of {status.sku}, {OrderStatus.State.Name(status.state)}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: customer.py ADDRESS ORDER SKU ITEMS")
    sys.exit(main(*sys.argv[1:]))
