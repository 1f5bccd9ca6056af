// The errors of protoc-gen-understudy, each with its position and text.

#include "understudy/tools/protoc_gen_understudy/generator.h"

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "google/protobuf/compiler/parser.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "gtest/gtest.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/proto/options.pb.h"
#include "understudy/tools/protoc_gen_understudy/limits.h"
#include "understudy/tools/protoc_gen_understudy/names.h"

namespace understudy::generator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;

static_assert(kRpcsPerServiceMax == limits::kMailboxesPerActorMax);
static_assert(kCapacityMessagesMax == limits::kMailboxCapacityMessagesMax);
static_assert(kWireNameBytesMax == limits::kMailboxNameBytesMax);
static_assert(WireNameHash("auction.Auction/MakeOffer") == internal::Fnv1a("auction.Auction/MakeOffer"));

class Sink : public google::protobuf::compiler::GeneratorContext {
 public:
  google::protobuf::io::ZeroCopyOutputStream* Open(const std::string& name) override {
    return new google::protobuf::io::StringOutputStream(&files[name]);
  }
  std::map<std::string, std::string> files;
};

class ErrorPrinter : public google::protobuf::io::ErrorCollector,
                     public google::protobuf::DescriptorPool::ErrorCollector {
  void AddError(int line, int column, const std::string& what) override {
    ADD_FAILURE() << line << ":" << column << what;
  }
  void AddError(const std::string&, const std::string& element, const google::protobuf::Message*, ErrorLocation,
                const std::string& what) override {
    ADD_FAILURE() << element << ": " << what;
  }
};

class GeneratorTest : public testing::Test {
 protected:
  // Returns the error for bad.proto, or an empty text. The first line of the file has `head`, and `services` begin on
  // line 2.
  std::string ErrorOf(absl::string_view services, absl::string_view head = "package bad;",
                      const std::string& parameter = "") {
    const std::string text = absl::StrCat("syntax = 'proto3'; ", head,
                                          " import 'google/protobuf/empty.proto';"
                                          " import 'understudy/proto/options.proto'; message M {}\n",
                                          services);
    ErrorPrinter errors;
    google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
    google::protobuf::io::Tokenizer tokens(&input, &errors);
    google::protobuf::compiler::Parser parser;
    parser.RecordErrorsTo(&errors);
    google::protobuf::FileDescriptorProto parsed;
    parsed.set_name("bad.proto");
    EXPECT_TRUE(parser.Parse(&tokens, &parsed));
    // The descriptors of the files that bad.proto imports are linked into this test.
    (void)google::protobuf::Empty::descriptor();
    (void)google::protobuf::GetEnumDescriptor<options::Overflow>();
    pool_ = std::make_unique<google::protobuf::DescriptorPool>(google::protobuf::DescriptorPool::generated_pool());
    const google::protobuf::FileDescriptor* file = pool_->BuildFileCollectingErrors(parsed, &errors);
    if (file == nullptr) return "bad.proto cannot be built";
    std::string error;
    EXPECT_EQ(ActorGenerator().Generate(file, parameter, &sink_, &error), error.empty());
    return error;
  }
  // Returns the error for a service with this rpc, which is on line 3.
  std::string ErrorOfRpc(absl::string_view rpc) { return ErrorOf(absl::StrCat("service S {\n", rpc, "\n}\n")); }
  // Returns the error for an rpc with this option, which is on line 4.
  std::string ErrorOfOption(absl::string_view option) {
    return ErrorOfRpc(absl::StrCat("  rpc R(M) returns (M) {\n    option (understudy.options.", option, ";\n  }"));
  }

  std::unique_ptr<google::protobuf::DescriptorPool> pool_;
  Sink sink_;
};

TEST_F(GeneratorTest, GoodOptionsAreNoError) {
  EXPECT_EQ(
      ErrorOfRpc(
          "rpc R(M) returns (google.protobuf.Empty) { option (understudy.options.cast) = true;"
          "option (understudy.options.capacity_messages) = 536870912; option (understudy.options.capacity_bytes) = 1;"
          "option (understudy.options.on_restart) = KEEP; option (understudy.options.time_to_live) = '1ns'; }"),
      "");
  EXPECT_THAT(sink_.files["bad.actor.h"], HasSubstr(".time_to_live = ::absl::Nanoseconds(1)"));
  EXPECT_THAT(sink_.files, ElementsAre(Key("bad.actor.h"), Key("bad.ref.cc"), Key("bad.ref.h"), Key("bad.testing.h")));
}

TEST_F(GeneratorTest, AnOptionOutOfRangeIsAnErrorAtItsLine) {
  EXPECT_THAT(ErrorOfOption("capacity_messages) = 0"),
              HasSubstr("\nbad.proto:4:5: rpc S.R: capacity_messages is 0: expected 1 to 536870912"));
  EXPECT_THAT(ErrorOfOption("capacity_messages) = 536870913"), HasSubstr("capacity_messages is 536870913: expected 1"));
  EXPECT_THAT(ErrorOfOption("capacity_bytes) = 0"), HasSubstr("capacity_bytes is 0: expected at least 1"));
  for (const absl::string_view text : {"5", "0s", "-1s", "inf", "soon", "0.5ns"}) {
    EXPECT_THAT(ErrorOfOption(absl::StrCat("time_to_live) = '", text, "'")),
                HasSubstr(absl::StrCat("bad.proto:4:5: rpc S.R: time_to_live is '", text, "': expected a positive")));
  }
}

TEST_F(GeneratorTest, OnRestartOfACallIsAnError) {
  EXPECT_THAT(ErrorOfOption("on_restart) = KEEP"), HasSubstr("bad.proto:4:5: rpc S.R: on_restart is for casts"));
}

TEST_F(GeneratorTest, ACastReturnsEmpty) {
  EXPECT_THAT(ErrorOfOption("cast) = true"),
              HasSubstr("bad.proto:4:5: rpc S.R: a cast has no reply, so it returns google.protobuf.Empty, not bad.M"));
}

TEST_F(GeneratorTest, StreamsOfRequestsAndOfRepliesAreNoErrors) {
  EXPECT_EQ(ErrorOfRpc("  rpc R(stream M) returns (M);"), "");
  EXPECT_EQ(ErrorOfRpc("  rpc R(M) returns (stream M);"), "");
  EXPECT_EQ(ErrorOfRpc("  rpc R(stream M) returns (stream M);"), "");
}

TEST_F(GeneratorTest, CapacityBytesOfAStreamOfRequestsIsAnError) {
  EXPECT_THAT(ErrorOfRpc("  rpc R(stream M) returns (M) {\n    option (understudy.options.capacity_bytes) = 5; }"),
              HasSubstr("bad.proto:4:5: rpc S.R: capacity_bytes is for requests that wait in the mailbox"));
}

TEST_F(GeneratorTest, AStreamOfACastIsAnError) {
  EXPECT_THAT(ErrorOfRpc("  rpc R(M) returns (stream M) { option (understudy.options.cast) = true; }"),
              HasSubstr("bad.proto:3:21: rpc S.R: a cast has no reply"));
  EXPECT_THAT(ErrorOfRpc("  rpc R(stream M) returns (google.protobuf.Empty) { "
                         "option (understudy.options.cast) = true; }"),
              HasSubstr("bad.proto:3:9: rpc S.R: a cast is one message, so it takes one, and no stream"));
}

TEST_F(GeneratorTest, ANameThatCannotBeAMemberIsAnErrorAtTheName) {
  EXPECT_THAT(ErrorOfRpc("  rpc Delete(M) returns (M);"),
              HasSubstr("bad.proto:3:7: rpc S.Delete: its member would be 'delete', which is a C++ keyword"));
  EXPECT_THAT(ErrorOfRpc("  rpc Context(M) returns (M);"), HasSubstr("'context', which means something else"));
  EXPECT_THAT(ErrorOfRpc("  rpc GetIt(M) returns (M);\n  rpc get_it(M) returns (M);"),
              HasSubstr("bad.proto:4:7: rpc S.get_it: its member would be 'get_it', as that of S.GetIt"));
  EXPECT_THAT(ErrorOf("service S {}", "package good.new;"),
              HasSubstr("bad.proto:1:20: package good.new: 'new' is a C++"));
}

TEST_F(GeneratorTest, AClassThatIsAMessageAlreadyIsAnError) {
  EXPECT_THAT(
      ErrorOf("message SRef {}\nservice S {}"),
      HasSubstr("bad.proto:3:9: service S: the class SRef that is generated has the name of the type bad.SRef"));
  EXPECT_THAT(ErrorOf("message MockS {}\nservice S {}"), HasSubstr("the class MockS that is generated has the name"));
  EXPECT_THAT(ErrorOf("enum E { SProbe = 0; }\nservice S {}"),
              HasSubstr("the class SProbe that is generated has the name of the enum value bad.SProbe"));
}

TEST_F(GeneratorTest, AClassOfTwoServicesIsAnErrorAtTheSecond) {
  EXPECT_THAT(
      ErrorOf("service FooActor {}\nservice MockFoo {}"),
      HasSubstr("bad.proto:3:9: service MockFoo: the class MockFooActor that is generated has the name of a class "
                "of the service FooActor: rename one of them"));
}

TEST(NamesTest, FilesWhoseNamesDifferOnlyInTheirSeparatorsHaveIncludeGuardsOfTheirOwn) {
  const std::vector<std::string> files = {"shop/cart.proto", "shop_cart.proto", "shop-cart.proto",
                                          "shop.cart.proto", "Shop_cart.proto", "shop_2fcart.proto"};
  std::set<std::string> guards;
  for (const std::string& file : files) guards.insert(IncludeGuard(file, "ref.h"));
  EXPECT_EQ(guards.size(), files.size());
  EXPECT_EQ(IncludeGuard("shop/cart.proto", "ref.h"), "PROTO_shop_2fcart_2eref_2eh");
}

TEST_F(GeneratorTest, MoreRpcsThanAnActorHasMailboxesAreAnError) {
  std::string rpcs;
  for (int i = 0; i < 64; ++i) absl::StrAppend(&rpcs, "rpc R", i, "(M) returns (M);\n");
  EXPECT_EQ(ErrorOfRpc(rpcs), "");
  EXPECT_THAT(ErrorOfRpc(absl::StrCat(rpcs, "rpc R64(M) returns (M);")),
              HasSubstr("bad.proto:2:9: service S has 65 rpcs: expected at most 64"));
}

TEST_F(GeneratorTest, TwoRpcsWithOneHashAreAnError) {
  EXPECT_THAT(ErrorOfRpc("  rpc Shgqkuk(M) returns (M);\n  rpc Zwnyetk(M) returns (M);"),
              HasSubstr("bad.proto:4:7: rpc S.Zwnyetk: its wire name bad.S/Zwnyetk has the same 32-bit hash as "
                        "bad.S/Shgqkuk: rename one of them"));
}

TEST_F(GeneratorTest, AWireNameThatIsTooLongIsAnError) {
  // The other 7 bytes of the name are "bad.S/R".
  const auto error = [&](size_t bytes) {
    return ErrorOfRpc(absl::StrCat("  rpc R", std::string(bytes - 7, 'x'), "(M) returns (M);"));
  };
  EXPECT_EQ(error(kWireNameBytesMax), "");
  EXPECT_THAT(error(kWireNameBytesMax + 1), HasSubstr("x: its wire name has 1025 bytes: expected at most 1024"));
}

TEST_F(GeneratorTest, AParameterIsAnError) {
  EXPECT_EQ(ErrorOf("service S {}", "package good;", "mocks=no"),
            "unknown parameter 'mocks=no': protoc-gen-understudy takes none");
  EXPECT_TRUE(sink_.files.empty());
}

TEST_F(GeneratorTest, AllErrorsOfAnRpcAreToldEachAtItsPlace) {
  EXPECT_EQ(
      ErrorOfRpc("  rpc New(M) returns (M) {\n"
                 "    option (understudy.options.time_to_live) = 'soon';\n"
                 "    option (understudy.options.capacity_messages) = 0;\n"
                 "  }"),
      "no actor classes can be made of it:\n"
      "bad.proto:3:7: rpc S.New: its member would be 'new', which is a C++ keyword: rename the rpc\n"
      "bad.proto:4:5: rpc S.New: time_to_live is 'soon': expected a positive number with a unit, such as 1h30m or "
      "250ms\n"
      "bad.proto:5:5: rpc S.New: capacity_messages is 0: expected 1 to 536870912");
}

TEST_F(GeneratorTest, AllErrorsAreToldInTheOrderOfTheFile) {
  EXPECT_EQ(ErrorOfRpc("  rpc New(M) returns (M);\n  rpc Delete(M) returns (M);"),
            "no actor classes can be made of it:\n"
            "bad.proto:3:7: rpc S.New: its member would be 'new', which is a C++ keyword: rename the rpc\n"
            "bad.proto:4:7: rpc S.Delete: its member would be 'delete', which is a C++ keyword: rename the rpc");
}

}  // namespace
}  // namespace understudy::generator
