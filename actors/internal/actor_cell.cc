#include "understudy/actors/internal/actor_cell.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/system_core.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

absl::Status FullError(const Gate& gate, absl::string_view bound) {
  return MakeError(ErrorKind::kFull, absl::StrCat("mailbox ", gate.declaration.wire_name, " holds ", bound,
                                                  "; send later, or declare it larger"));
}

// OK, or why the gate takes no more.
absl::Status CheckRoom(const Gate& gate, size_t bytes) {
  const MailboxOptions& options = gate.declaration.options;
  const int64_t waiting = gate.accepted - gate.left;
  const int64_t factor = options.overflow == Overflow::kDropOldest ? 2 : 1;
  if (waiting >= options.capacity_messages * factor) {
    return FullError(gate, absl::StrCat(waiting, " messages, its capacity"));
  }
  const size_t held = gate.bytes_accepted - gate.bytes_left;
  const size_t capacity = options.capacity_bytes;
  const size_t bound = factor == 1 ? capacity : capacity + std::min(capacity, SIZE_MAX - capacity);
  if (bytes > capacity || held > bound - bytes) {
    return FullError(
        gate, absl::StrCat(held, " bytes, and ", bytes, " more exceed its capacity of ", options.capacity_bytes));
  }
  return absl::OkStatus();
}

// There is something to drop, on the owner's turn.
bool Overflows(const Gate& gate) {
  const MailboxOptions& options = gate.declaration.options;
  return options.overflow == Overflow::kDropOldest && (gate.accepted - gate.left > options.capacity_messages ||
                                                       gate.bytes_accepted - gate.bytes_left > options.capacity_bytes);
}

}  // namespace

bool ActorCell::WakeLocked() {
  if (is_scheduled_) return false;
  is_scheduled_ = true;
  return true;
}

void ActorCell::PushLocked(Message message, bool is_timed) {
  if (is_timed) message.accepted = system_->clock().Now();
  inbound_.emplace_back(std::move(message));
}

absl::Status ActorCell::AcceptLocked(const Offer& offer, bool& wake, absl::FunctionRef<Message()> take) {
  if (life_ != offer.life || state_ == State::kClosed) {
    return MakeError(ErrorKind::kNoProcess, "that actor has ended; look its name up again");
  }
  if (state_ == State::kStopping) {
    return MakeError(ErrorKind::kStopping, "that actor is ending and takes no more messages");
  }
  if (state_ == State::kStarting) {
    if (held_ >= limits::kStartingMessagesMax) {
      return MakeError(ErrorKind::kFull, absl::StrCat("the actor has not started yet and already holds ", held_,
                                                      " messages, the most it may"));
    }
    ++held_;
    PushLocked(take(), /*is_timed=*/true);
    return absl::OkStatus();
  }
  const size_t place = GateOf(offer.mailbox);
  const MailboxDeclaration* declaration = place == gates_.size() ? nullptr : &gates_[place].declaration;
  if (declaration == nullptr || (offer.type != nullptr && declaration->request != offer.type) ||
      (offer.type == nullptr && !declaration->request->is_wire) || offer.is_call != (declaration->reply != nullptr)) {
    return MakeError(ErrorKind::kNoMailbox,
                     absl::StrCat("the actor has no mailbox ", MailboxNames::Find(offer.mailbox), " that takes ",
                                  offer.is_call ? "calls with " : "",
                                  offer.type == nullptr ? "messages of other nodes" : offer.type->name));
  }
  Gate& gate = gates_[place];
  if (absl::Status room = CheckRoom(gate, offer.bytes); !room.ok()) {
    ++gate.refused;
    if (declaration->options.overflow == Overflow::kFailActor) {
      gate.fail_on_turn = true;
      wake = WakeLocked();
    }
    return room;
  }
  ++gate.accepted;
  gate.bytes_accepted += offer.bytes;
  PushLocked(take(), declaration->options.time_to_live != absl::InfiniteDuration());
  if ((open_ >> place & 1U) != 0 || Overflows(gate)) wake = WakeLocked();
  return absl::OkStatus();
}

absl::Status ActorCell::Accept(const Offer& offer, absl::FunctionRef<Message()> take) {
  bool wake = false;
  SystemCore* system = nullptr;
  absl::Status status;
  {
    absl::MutexLock lock(&mu_);
    system = system_;
    status = AcceptLocked(offer, wake, take);
    // Counted under the lock, so that the ledger never shows a fate before it
    // shows the acceptance.
    if (status.ok()) system_->CountAccepted();
  }
  if (wake) system->executor().Schedule(this);
  return status;
}

bool ActorCell::Post(uint64_t life, Envelope&& envelope) {
  SystemCore* system = nullptr;
  bool wake = false;
  {
    absl::MutexLock lock(&mu_);
    if (life_ != life || state_ == State::kClosed) return false;
    inbound_.push_back(std::move(envelope));
    wake = WakeLocked();
    system = system_;
  }
  if (wake) system->executor().Schedule(this);
  return true;
}

void ActorCell::AskForExpiry(uint64_t life) {
  {
    absl::MutexLock lock(&mu_);
    if (expiry_asked_ || life_ != life) return;
    expiry_asked_ = true;
  }
  (void)Post(life, Envelope(Tick{.expires_calls = true}));
}

bool ActorCell::IsAlive(uint64_t life) const {
  absl::MutexLock lock(&mu_);
  return life_ == life && state_ != State::kClosed;
}

void ActorCell::Open(uint64_t life, SystemCore* system, CellOwner* owner) {
  {
    absl::MutexLock lock(&mu_);
    UNDERSTUDY_CHECK(state_ == State::kClosed, "cell ", index_, " is in use");
    life_ = life;
    system_ = system;
    owner_ = owner;
    state_ = State::kStarting;
    held_ = 0;
    open_ = 0;
    expiry_asked_ = false;
    is_scheduled_ = true;
  }
  system->executor().Schedule(this);
}

void ActorCell::SetGates(std::vector<Gate> gates, std::deque<Envelope>& early) {
  absl::MutexLock lock(&mu_);
  gates_ = std::move(gates);
  early.swap(inbound_);
  state_ = State::kOpen;
}

void ActorCell::TakeInbound(std::deque<Envelope>& into) {
  absl::MutexLock lock(&mu_);
  expiry_asked_ = false;
  if (into.empty()) {
    into.swap(inbound_);
    return;
  }
  for (Envelope& envelope : inbound_) into.push_back(std::move(envelope));
  inbound_.clear();
}

void ActorCell::Released(int mailbox, int64_t messages, size_t bytes) {
  absl::MutexLock lock(&mu_);
  Gate& gate = gates_[static_cast<size_t>(mailbox)];
  gate.left += messages;
  gate.bytes_left += bytes;
}

absl::Status ActorCell::AdmitEarly(int mailbox, size_t bytes) {
  absl::MutexLock lock(&mu_);
  Gate& gate = gates_[static_cast<size_t>(mailbox)];
  const Overflow overflow = gate.declaration.options.overflow;
  // Where the oldest are dropped this is the receiver's turn: it drops them.
  if (overflow != Overflow::kDropOldest) {
    if (absl::Status room = CheckRoom(gate, bytes); !room.ok()) {
      gate.fail_on_turn = gate.fail_on_turn || overflow == Overflow::kFailActor;
      return room;
    }
  }
  ++gate.accepted;
  gate.bytes_accepted += bytes;
  return absl::OkStatus();
}

bool ActorCell::TookOverflow(int mailbox) {
  absl::MutexLock lock(&mu_);
  return std::exchange(gates_[static_cast<size_t>(mailbox)].fail_on_turn, false);
}

bool ActorCell::WouldWake(const Envelope& envelope) const {
  const Message* message = std::get_if<Message>(&envelope);
  if (message == nullptr) return true;
  const size_t place = GateOf(message->mailbox);
  return place == gates_.size() || (open_ >> place & 1U) != 0 || Overflows(gates_[place]);
}

size_t ActorCell::GateOf(uint32_t mailbox) const {
  size_t place = 0;
  while (place < gates_.size() && gates_[place].declaration.hash != mailbox) ++place;
  return place;
}

void ActorCell::EndTurn(uint64_t open, bool has_more) {
  SystemCore* system = nullptr;
  {
    absl::MutexLock lock(&mu_);
    open_ = open;
    // What came during the turn did not wake: look whether it would have.
    bool wakes = has_more;
    for (const Envelope& envelope : inbound_) wakes = wakes || WouldWake(envelope);
    for (const Gate& gate : gates_) wakes = wakes || gate.fail_on_turn;
    is_scheduled_ = wakes;
    if (is_scheduled_) system = system_;
  }
  if (system != nullptr) system->executor().Schedule(this);
}

void ActorCell::BeginStop() {
  absl::MutexLock lock(&mu_);
  state_ = State::kStopping;
}

std::deque<Envelope> ActorCell::Close() {
  absl::MutexLock lock(&mu_);
  state_ = State::kClosed;
  life_ = 0;
  is_scheduled_ = false;
  owner_ = nullptr;
  gates_.clear();
  std::deque<Envelope> rest;
  rest.swap(inbound_);
  return rest;
}

int64_t ActorCell::Waiting() const {
  absl::MutexLock lock(&mu_);
  if (state_ == State::kClosed) return 0;
  int64_t waiting = owner_->waiting_messages();
  for (const Envelope& envelope : inbound_) {
    if (std::holds_alternative<Message>(envelope)) ++waiting;
  }
  return waiting;
}

uint64_t ActorCell::life() const {
  absl::MutexLock lock(&mu_);
  return life_;
}

std::vector<Gate> ActorCell::gates() const {
  absl::MutexLock lock(&mu_);
  return gates_;
}

void ActorCell::ForEachClosed(absl::FunctionRef<void(uint64_t, int, const Gate&)> look) const {
  absl::MutexLock lock(&mu_);
  if (state_ != State::kOpen || is_scheduled_) return;
  for (size_t i = 0; i < gates_.size(); ++i) {
    if ((open_ >> i & 1U) == 0 && gates_[i].accepted > gates_[i].left) look(life_, static_cast<int>(i), gates_[i]);
  }
}

void ActorCell::Run() {
  CellOwner* owner = nullptr;
  {
    absl::MutexLock lock(&mu_);
    owner = owner_;
  }
  owner->RunTurn();
}

std::vector<CellArena::Chunk*>& CellArena::Pool(absl::Mutex*& mu) {
  static absl::Mutex* const pool_mu = new absl::Mutex;
  static auto* const pool = new std::vector<Chunk*>;
  mu = pool_mu;
  return *pool;
}

CellArena::~CellArena() {
  absl::Mutex* pool_mu = nullptr;
  std::vector<Chunk*>& pool = Pool(pool_mu);
  absl::MutexLock lock(&mu_);
  absl::MutexLock pool_lock(pool_mu);
  for (Chunk* chunk : chunks_) pool.push_back(chunk);
}

ActorCell* CellArena::Allocate() {
  absl::MutexLock lock(&mu_);
  if (free_.empty()) {
    Chunk* chunk = nullptr;
    {
      absl::Mutex* pool_mu = nullptr;
      std::vector<Chunk*>& pool = Pool(pool_mu);
      absl::MutexLock pool_lock(pool_mu);
      if (!pool.empty()) {
        chunk = pool.back();
        pool.pop_back();
      }
    }
    if (chunk == nullptr) chunk = new Chunk;
    const auto first = static_cast<uint32_t>(chunks_.size() * kChunkCells);
    chunks_.push_back(chunk);
    used_.resize(chunks_.size() * kChunkCells);
    for (size_t i = kChunkCells; i-- > 0;) {
      chunk->cells[i].index_ = first + static_cast<uint32_t>(i);
      free_.push_back(first + static_cast<uint32_t>(i));
    }
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  used_[index] = true;
  return &chunks_[index / kChunkCells]->cells[index % kChunkCells];
}

void CellArena::Free(ActorCell* cell) {
  absl::MutexLock lock(&mu_);
  used_[cell->index_] = false;
  free_.push_back(cell->index_);
}

ActorCell* CellArena::Find(uint32_t index) const {
  absl::MutexLock lock(&mu_);
  if (index / kChunkCells >= chunks_.size()) return nullptr;
  return &chunks_[index / kChunkCells]->cells[index % kChunkCells];
}

std::vector<ActorCell*> CellArena::Used() const {
  absl::MutexLock lock(&mu_);
  std::vector<ActorCell*> cells;
  for (uint32_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) cells.push_back(&chunks_[i / kChunkCells]->cells[i % kChunkCells]);
  }
  return cells;
}

}  // namespace understudy::internal
