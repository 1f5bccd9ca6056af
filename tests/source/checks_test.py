#!/usr/bin/python3
"""Each check must report its bad example and accept its good example."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import checks  # noqa: E402
import citations  # noqa: E402
import layers  # noqa: E402
import links  # noqa: E402
import mutants  # noqa: E402


def lines(check, path, text):
    return [line for line, _ in check(path, text)]


class ChecksTest(unittest.TestCase):
    def test_a_file_of_501_lines_is_refused(self):
        self.assertEqual(lines(checks.file_length, "actors/a.cc", "x\n" * 501), [501])
        self.assertEqual(lines(checks.file_length, "actors/a.cc", "x\n" * 500), [])
        self.assertEqual(lines(checks.file_length, "examples/auction/bids.csv", "x\n" * 2000), [])

    def test_a_line_of_121_columns_is_refused(self):
        self.assertEqual(lines(checks.line_length, "actors/a.h", "x\n" + "y" * 121 + "\n"), [2])
        self.assertEqual(lines(checks.line_length, "actors/a.h", "é" * 120), [])

    def test_an_include_without_the_prefix_is_refused(self):
        self.assertEqual(lines(checks.bare_include, "tests/a.cc", '\n#include "actors/pid.h"\n'), [2])
        self.assertEqual(lines(checks.bare_include, "tests/a.cc", "#include <transport/node.h>\n"), [1])
        self.assertEqual(lines(checks.bare_include, "tests/a.cc", '#include "understudy/actors/pid.h"\n'), [])

    def test_grpc_and_protobuf_are_refused_in_actors_and_supervision(self):
        for include in ("<grpcpp/grpcpp.h>", "<grpc/grpc.h>", '"google/protobuf/message.h"', '"understudy/proto/a.pb.h"'):
            text = f"#include {include}\n"
            self.assertEqual(lines(checks.wire_library_in_kernel, "actors/a.h", text), [1], include)
            self.assertEqual(lines(checks.wire_library_in_kernel, "supervision/a.cc", text), [1], include)
            self.assertEqual(lines(checks.wire_library_in_kernel, "transport/a.cc", text), [], include)

    def test_a_proto_import_without_the_prefix_is_refused(self):
        self.assertEqual(lines(checks.proto_import, "proto/a.proto", 'import "proto/envelope.proto";\n'), [1])
        good = 'import "understudy/proto/envelope.proto";\nimport "google/protobuf/any.proto";\n'
        self.assertEqual(lines(checks.proto_import, "proto/a.proto", good), [])

    def test_a_temporary_inside_co_await_is_refused(self):
        bad = [
            "auto r = co_await book.Ask(Load{1}, d);",
            "auto r = co_await Ask({}, d);",
            "co_await Run([this] { return 1; });",
            "co_await Run(1,\n    [&](int x) { return x; });",
            "if (!(co_await Ask({}))) return;",
            "co_await [&]() -> Task<> { co_return; }();",
        ]
        for text in bad:
            self.assertIn(1, lines(checks.co_await_temporary, "actors/a.cc", text), text)
        good = [
            "auto asked = book->load().Ask({}, d); auto r = co_await asked;",
            "if (!co_await asked) { return; }",
            "while (co_await next) { f({}); }",
            "// co_await Ask({})",
            'co_await Say("{[");',
            "co_await pending[0];",
            "f(co_await asked, {1});",
            "auto operator co_await() const { return Awaiter{this}; }",
        ]
        for text in good:
            self.assertEqual(lines(checks.co_await_temporary, "actors/a.cc", text), [], text)

    def test_sleeping_is_refused(self):
        self.assertEqual(lines(checks.sleeping, "actors/a.cc", "std::this_thread::sleep_for(1ms);"), [1])
        for text in ("absl::SleepFor(d);", "sleep(1);", "::sleep(1);", "usleep(1);", "nanosleep(&a, &b);"):
            self.assertEqual(lines(checks.sleeping, "tests/actors/a_test.cc", text), [1], text)
        for text in ('Run("sleep(1)");', "// sleep(1)", "machine.sleep(1);", "FallAsleep();"):
            self.assertEqual(lines(checks.sleeping, "tests/actors/a_test.cc", text), [], text)

    def test_leftovers_are_refused(self):
        self.assertEqual(lines(checks.leftover, "actors/a.cc", "int a;\n// TODO: b\n"), [2])
        self.assertEqual(lines(checks.leftover, "README.md", "FIXME\n"), [1])


    def test_a_test_that_is_not_joined_is_refused(self):
        test = 'understudy_test(\n    name = "a_test",\n)\n'
        self.assertEqual(lines(checks.joins_tests, "tests/a/BUILD", test), [1])
        self.assertEqual(lines(checks.joins_tests, "tests/a/BUILD", "joined_tests()\n\n" + test), [3])
        self.assertEqual(lines(checks.joins_tests, "tests/a/BUILD", test + "\njoined_tests()\n"), [])
        self.assertEqual(lines(checks.joins_tests, "tests/a/BUILD", 'sh_test(name = "a_test")\n'), [])


class LayersTest(unittest.TestCase):
    TABLE = "actors:low:\nactors:high: actors:low\nactors:top: actors:high  # comment\n"
    BUILD = """
understudy_library(name = "low", srcs = ["low.cc"], hdrs = ["low.h"])
understudy_library(name = "high", srcs = ["high.cc"], hdrs = ["internal/high.h"], deps = [":low"])
understudy_library(name = "top", hdrs = ["top.h"])
"""

    def findings(self, **changes):
        files = {
            "actors/BUILD": self.BUILD,
            "actors/low.cc": '#include "understudy/actors/low.h"\n',
            "actors/low.h": "",
            "actors/high.cc": '#include "understudy/actors/low.h"\n',
            "actors/internal/high.h": "",
            "actors/top.h": '#include "understudy/actors/low.h"\n',
        }
        files.update({path.replace("__", "/").replace("_dot_", "."): text for path, text in changes.items()})
        return [(path, line) for path, line, _ in layers.check(layers.parse_table(self.TABLE), files)]

    def test_a_clean_tree_has_no_finding(self):
        self.assertEqual(self.findings(), [])

    def test_an_include_of_a_higher_layer_is_refused(self):
        text = '\n#include "understudy/actors/internal/high.h"\n'
        self.assertEqual(self.findings(actors__low_dot_h=text), [("actors/low.h", 2)])

    def test_a_page_that_cites_a_test_that_is_not_there_is_refused(self):
        files = {
            "a/README.md": "P `WhatIsThere`, S `Suite.WhatIsThere`, `x_test: WhatIsThere`, an `ExitReason`\nand `WhatIsGone`",
            "tests/a_test.cc": "TEST(Suite, WhatIsThere) {}",
        }
        self.assertEqual([(path, line) for path, line, _ in citations.check(files)], [("a/README.md", 2)])

    def test_a_rule_of_the_semantics_that_is_not_there_is_refused(self):
        files = {
            "docs/semantics.md": "## 5 Exits\n\n**5.1** A pid.\n",
            "docs/semantics/nodes.md": "## 7 Nodes\n\n**7.2** A session.\n",
            "docs/semantics/streams.md": "## 10 Streams\n\n**10.1** A stream.\n",
            "a/b.cc": "// semantics 10 and semantics 10.1\n// semantics 10.1 and 10.9\n// semantics 1\n",
            "a/a.cc": "// semantics 5.1, 7.2\n// semantics 5\n// semantics\n// 5.9: a rule\n// semantics 5.1, 5.2\n",
        }
        found = [(path, line) for path, line, _ in citations.check_rules(files)]
        self.assertEqual(found, [("a/a.cc", 4), ("a/a.cc", 5), ("a/b.cc", 2), ("a/b.cc", 3)])

    def test_a_target_that_the_table_does_not_know_is_refused(self):
        build = self.BUILD + 'understudy_library(name = "new", hdrs = ["new.h"])\n'
        self.assertEqual(self.findings(actors__BUILD=build, actors__new_dot_h=""), [("actors/new.h", 1)])

    def test_a_target_of_the_table_that_has_no_file_is_refused(self):
        build = self.BUILD.replace('name = "top"', 'name = "high"')
        self.assertEqual(self.findings(actors__BUILD=build), [("tests/source/layers.txt", 1)])

    def test_a_file_of_no_target_is_refused(self):
        self.assertEqual(self.findings(actors__lost_dot_cc=""), [("actors/lost.cc", 1)])

    def test_an_include_of_a_file_of_no_target_is_refused(self):
        text = '#include "understudy/actors/gone.h"\n'
        self.assertEqual(self.findings(actors__top_dot_h=text), [("actors/top.h", 1)])

    def test_a_link_that_leads_nowhere_is_refused(self):
        files = {
            "README.md": "[a](docs/a.md#what-is-there) [folder](docs) [page](https://a.org/b.md)\n[here](#top)\n# Top\n",
            "docs/a.md": "# `What` is there\n[up](../README.md)\n[gone](../gone.md)\n[b]: b.md\n"
            "`[code](x.md)`\n```\n[code](x.md)\n# Code\n```\n[no](#code) [twice](#what-is-there-1)\n## What is there\n",
        }
        found = [(path, line) for path, line, _ in links.check_links(files)]
        self.assertEqual(found, [("docs/a.md", 3), ("docs/a.md", 4), ("docs/a.md", 10)])

    def test_the_anchor_of_a_heading_is_githubs(self):
        self.assertEqual(
            links.anchors("# Links, `exits` and [more](a.md)!\n## gen_server & co\n# Same\n## Same\n"),
            {"links-exits-and-more", "gen_server--co", "same", "same-1"},
        )

    def test_a_cited_test_that_is_not_there_or_lacks_the_case_is_refused(self):
        files = {
            "a/README.md": "`x_test`, `tests/a/x_test.cc`, `x_test: Works`, `made_test`, `big_test`\n"
            "`x_test: Fails`\n`y_test`\n",
            "tests/a/x_test.cc": "TEST(Suite, Works) {}",
            "tests/a/BUILD": 'made_test(name = "big_test")\n',
            "tests/made.bzl": "def made_test(name):\n",
        }
        found = [(path, line) for path, line, _ in links.check_tests(files)]
        self.assertEqual(found, [("a/README.md", 2), ("a/README.md", 3)])

    def test_a_further_case_that_the_cited_test_lacks_is_refused(self):
        files = {
            "a/README.md": "`x_test: Works`, `Fails`,\n`Runs`; `y_test: Runs`. `Works`\n",
            "tests/a/x_test.cc": "TEST(Suite, Works) {}\nTEST(Suite, Fails) {}",
            "tests/a/y_test.cc": "TEST(Suite, Runs) {}",
        }
        found = [message for _, _, message in links.check_tests(files)]
        self.assertEqual(found, ["cites Runs of x_test, which does not have it"])

    def test_a_header_that_users_cannot_include_is_refused_on_their_pages(self):
        text = "`pid.h`, `send/x.h`, `actors/room.h`, `testing/y.h`, `none.h`\n`room.h`\n"
        files = {
            "docs/guide/a.md": text,
            "docs/glossary.md": text,
            "tests/build/public_headers.cc": '#include "understudy/actors/pid.h"  // IWYU pragma: keep\n',
            **{f"actors/{name}.h": "" for name in ("pid", "room", "send/x", "testing/y")},
        }
        found = [(path, line, message.split()[1]) for path, line, message in links.check_headers(files)]
        self.assertEqual(found, [("docs/guide/a.md", 1, "send/x.h,"), ("docs/guide/a.md", 1, "actors/room.h,"),
                                 ("docs/guide/a.md", 2, "room.h,")])

    def test_a_header_that_users_cannot_include_is_refused_where_a_page_links_to_it_or_includes_it(self):
        text = ('[pid](../../actors/pid.h) [in](../../actors/in.h)\n#include "understudy/actors/pid.h"\n'
                '#include "understudy/actors/in.h"\n#include "understudy/actors/testing/y.h"\n')
        files = {
            "docs/guide/a.md": text,
            "docs/b.md": text,
            "tests/build/public_headers.cc": '#include "understudy/actors/pid.h"\n',
            "actors/pid.h": "",
            "actors/in.h": "",
        }
        found = [(path, line) for path, line, _ in links.check_headers(files)]
        self.assertEqual(found, [("docs/guide/a.md", 1), ("docs/guide/a.md", 3)])

    def test_a_header_at_the_top_of_a_layer_that_is_in_no_list_or_in_both_is_refused(self):
        files = {
            "tests/build/public_headers.cc": '#include "understudy/actors/pid.h"\n',
            "tests/build/internal_headers.txt": "# why\nactors/in.h  # here\nactors/gone.h\nactors/pid.h\n",
            **{name: "" for name in ("actors/pid.h", "actors/in.h", "actors/new.h", "actors/internal/x.h",
                                     "transport/new.h", "actors/test_system.h", "tools/y.h")},
        }
        found = [(path, line) for path, line, _ in links.check_top_headers(files)]
        self.assertEqual(found, [("tests/build/internal_headers.txt", 3), ("tests/build/internal_headers.txt", 4),
                                 ("actors/new.h", 1), ("transport/new.h", 1)])

    def test_a_table_that_points_upwards_is_refused(self):
        with self.assertRaises(ValueError):
            layers.parse_table("actors:low: actors:high\nactors:high:\n")


class MutantsTest(unittest.TestCase):
    LIST = "mutant: counts too far\nfile: actors/a.cc\ntest: //tests/actors:a_test\nold: <= n\nnew: < n\n"

    def findings(self, **changes):
        files = {"actors/a.cc": "i <= n;\n", "tests/actors/BUILD": 'name = "a_test"', mutants.LIST: self.LIST} | changes
        return [message for _, _, message in mutants.check(files)]

    def test_a_mutant_that_can_be_put_in_has_no_finding(self):
        self.assertEqual(self.findings(), [])

    def test_a_mutant_of_text_that_is_gone_or_there_twice_is_refused(self):
        for text in ("i < n;\n", "i <= n; j <= n;\n"):
            self.assertIn("must have once", self.findings(**{"actors/a.cc": text})[0])

    def test_a_test_of_another_layer_or_none_is_refused(self):
        other = self.LIST.replace("tests/actors", "tests/transport")
        self.assertIn("the layer of actors/a.cc", self.findings(**{mutants.LIST: other})[0])
        self.assertIn("has no test a_test", self.findings(**{"tests/actors/BUILD": 'name = "b_test"'})[0])

    def test_a_list_without_a_field_is_refused(self):
        self.assertIn("expected 'old:'", self.findings(**{mutants.LIST: self.LIST.replace("old", "odd")})[0])


if __name__ == "__main__":
    unittest.main()
