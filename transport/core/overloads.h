// Overloads: several lambdas as one overload set, for std::visit. A variant with an alternative that none of them takes
// does not compile. Beside a generic lambda (auto&) the others take their alternatives as X&, because a const X& is the
// worse match.
//
//   std::visit(Overloads{[](const DialStream& dial) { … }, [](const WriteFrame& write) { … }}, action);
#ifndef UNDERSTUDY_TRANSPORT_CORE_OVERLOADS_H_
#define UNDERSTUDY_TRANSPORT_CORE_OVERLOADS_H_

namespace understudy::internal {

template <class... F>
struct Overloads : F... {
  using F::operator()...;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_OVERLOADS_H_
