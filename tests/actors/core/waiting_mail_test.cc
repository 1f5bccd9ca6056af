// WaitingMail without an actor.
#include "understudy/actors/internal/turn/waiting_mail.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/message.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;

class WaitingMailTest : public testing::Test {
 protected:
  ~WaitingMailTest() override {
    for (Envelope* envelope : made_) Envelope::Delete(envelope);
  }
  Envelope* Make(uint64_t stamp) {
    Envelope* made = Envelope::Make(EnvelopeKind::kMessage, TypeOf<int>(), /*has_call_part=*/false);
    made->stamp = stamp;
    made->next = made;
    made_.push_back(made);
    return made;
  }
  // From the oldest on.
  static std::vector<uint64_t> Stamps(const Queue& queue) {
    std::vector<uint64_t> stamps;
    for (const Envelope* each = queue.newest; each != nullptr;) {
      each = each->next;
      stamps.push_back(each->stamp);
      if (each == queue.newest) break;
    }
    return stamps;
  }

  std::vector<Envelope*> made_;
  Queue first_;
  Queue second_;
  WaitingMail mail_;
};

TEST_F(WaitingMailTest, AMailboxHasMailFromItsFirstMessageUntilItsLastIsCut) {
  EXPECT_EQ(mail_.mailboxes(), 0);
  Envelope* const one = Make(1);
  Envelope* const two = Make(2);
  mail_.Add(first_, 0, one);
  mail_.Add(first_, 0, two);
  mail_.Add(second_, 63, Make(3));
  EXPECT_EQ(mail_.mailboxes(), uint64_t{1} << 63 | 1);
  EXPECT_THAT(Stamps(first_), ElementsAre(1, 2));
  mail_.Cut(first_, 0, one, two);
  EXPECT_EQ(mail_.mailboxes(), uint64_t{1} << 63 | 1);
  mail_.Cut(first_, 0, two, two);
  EXPECT_EQ(mail_.mailboxes(), uint64_t{1} << 63);
  EXPECT_EQ(first_.newest, nullptr);
}

TEST_F(WaitingMailTest, ReturnedMailWaitsInTheOrderOfItsStamps) {
  mail_.Return(first_, 2, Make(5));
  EXPECT_EQ(mail_.mailboxes(), 4);
  mail_.Add(first_, 2, Make(7));
  mail_.Return(first_, 2, Make(6));
  mail_.Return(first_, 2, Make(1));
  EXPECT_EQ(mail_.mailboxes(), 4);
  EXPECT_THAT(Stamps(first_), ElementsAre(1, 5, 6, 7));
}

}  // namespace
}  // namespace understudy::internal
