// The classes of auction.proto's services, in the form that a generator will
// write them: for each service an actor class that has its mailboxes, and a ref
// with a channel for each.
//
//   class EnglishAuction final : public AuctionActor { … };
//   AuctionRef lot = context().Spawn<EnglishAuction>(book, setup);
//   auto asked = lot.make_offer().Ask(offer, absl::Seconds(5));
//
// Mailboxes: owner's turn only. Refs: any thread, small values.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_AUCTION_ACTORS_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_AUCTION_ACTORS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/message.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/registry.h"
#include "understudy/examples/auction/auction.pb.h"

namespace auction {

class AuctionRef;

class AuctionActor : public understudy::Actor {
 public:
  using Ref = AuctionRef;
  static constexpr absl::string_view kService = "auction.Auction";

 protected:
  understudy::Mailbox<"MakeOffer", understudy::Call<Offer, OfferResult>> make_offer{this};
  understudy::Mailbox<"Inquire", understudy::Call<InquireRequest, AuctionStatus>> inquire{this};
  understudy::Mailbox<"Watch", WatchRequest> watch{this, {.capacity_messages = 100}};
  friend class AuctionRef;
};

class AuctionRef : public understudy::Ref<AuctionActor> {
 public:
  using understudy::Ref<AuctionActor>::Ref;
  understudy::Channel<understudy::Call<Offer, OfferResult>> make_offer() const {
    return (*this)[&AuctionActor::make_offer];
  }
  understudy::Channel<understudy::Call<InquireRequest, AuctionStatus>> inquire() const {
    return (*this)[&AuctionActor::inquire];
  }
  understudy::Channel<WatchRequest> watch() const { return (*this)[&AuctionActor::watch]; }
  static std::vector<understudy::MailboxSignature> Mailboxes() {
    return {understudy::SignatureOf(&AuctionActor::make_offer), understudy::SignatureOf(&AuctionActor::inquire),
            understudy::SignatureOf(&AuctionActor::watch)};
  }
};

class WatcherRef;

class WatcherActor : public understudy::Actor {
 public:
  using Ref = WatcherRef;
  static constexpr absl::string_view kService = "auction.Watcher";

 protected:
  understudy::Mailbox<"PriceChanged", PriceChange> price_changed{this};
  friend class WatcherRef;
};

class WatcherRef : public understudy::Ref<WatcherActor> {
 public:
  using understudy::Ref<WatcherActor>::Ref;
  understudy::Channel<PriceChange> price_changed() const { return (*this)[&WatcherActor::price_changed]; }
  static std::vector<understudy::MailboxSignature> Mailboxes() {
    return {understudy::SignatureOf(&WatcherActor::price_changed)};
  }
};

class BookRef;

class BookActor : public understudy::Actor {
 public:
  using Ref = BookRef;
  static constexpr absl::string_view kService = "auction.Book";

 protected:
  understudy::Mailbox<"Record", understudy::Call<RecordRequest, RecordReply>> record{this};
  understudy::Mailbox<"Load", understudy::Call<LoadRequest, LotState>> load{this};
  friend class BookRef;
};

class BookRef : public understudy::Ref<BookActor> {
 public:
  using understudy::Ref<BookActor>::Ref;
  understudy::Channel<understudy::Call<RecordRequest, RecordReply>> record() const {
    return (*this)[&BookActor::record];
  }
  understudy::Channel<understudy::Call<LoadRequest, LotState>> load() const { return (*this)[&BookActor::load]; }
  static std::vector<understudy::MailboxSignature> Mailboxes() {
    return {understudy::SignatureOf(&BookActor::record), understudy::SignatureOf(&BookActor::load)};
  }
};

class ChronicleRef;

class ChronicleActor : public understudy::Actor {
 public:
  using Ref = ChronicleRef;
  static constexpr absl::string_view kService = "auction.Chronicle";

 protected:
  understudy::Mailbox<"Note", Happening> note{this};
  friend class ChronicleRef;
};

class ChronicleRef : public understudy::Ref<ChronicleActor> {
 public:
  using understudy::Ref<ChronicleActor>::Ref;
  understudy::Channel<Happening> note() const { return (*this)[&ChronicleActor::note]; }
  static std::vector<understudy::MailboxSignature> Mailboxes() {
    return {understudy::SignatureOf(&ChronicleActor::note)};
  }
};

class StewardRef;

class StewardActor : public understudy::Actor {
 public:
  using Ref = StewardRef;
  static constexpr absl::string_view kService = "auction.Steward";

 protected:
  understudy::Mailbox<"Report", understudy::Call<ReportRequest, NodeReport>> report{this};
  friend class StewardRef;
};

class StewardRef : public understudy::Ref<StewardActor> {
 public:
  using understudy::Ref<StewardActor>::Ref;
  understudy::Channel<understudy::Call<ReportRequest, NodeReport>> report() const {
    return (*this)[&StewardActor::report];
  }
  static std::vector<understudy::MailboxSignature> Mailboxes() {
    return {understudy::SignatureOf(&StewardActor::report)};
  }
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_AUCTION_ACTORS_H_
