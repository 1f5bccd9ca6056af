// GrpcClientUploadTest: uploads to clients of a PlainDesk.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_CLIENT_UPLOAD_FIXTURE_H_
#define UNDERSTUDY_TESTS_TRANSPORT_CLIENT_UPLOAD_FIXTURE_H_

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/channel.h"
#include "understudy/tests/transport/client/client_fixture.h"
#include "understudy/tests/transport/client/plain_uploads.h"
#include "understudy/tests/transport/client/uploader.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/front.h"

namespace understudy {

// An upload under way, or over.
struct Uploading {
  Channel<UploadEnd> asker;
  std::shared_ptr<UploadNotes> notes;

  const UploadNotes* operator->() const { return notes.get(); }
};

class GrpcClientUploadTest : public GrpcClientTest {
 protected:
  Uploading Collect(desk::DeskRef desk, UploadPlan plan) { return Upload<Collector>(desk, std::move(plan)); }
  Uploading Converse(desk::DeskRef desk, UploadPlan plan) { return Upload<Converser>(desk, std::move(plan)); }
  // Expects that the server saw `broken` uploads end without their end, and `complete` with it.
  void ExpectAtServer(int broken, int complete) {
    EXPECT_TRUE(Eventually([&] { return uploads.broken + uploads.complete == broken + complete; }));
    EXPECT_EQ(uploads.broken, broken);
    EXPECT_EQ(uploads.complete, complete);
  }

  UploadCounts& uploads = server.counts.uploads;

 private:
  template <class A>
  Uploading Upload(desk::DeskRef desk, UploadPlan plan) {
    const auto notes = std::make_shared<UploadNotes>();
    return {.asker = system.Spawn<A>(desk, std::move(plan), notes)[&A::end], .notes = notes};
  }
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_CLIENT_UPLOAD_FIXTURE_H_
