// What office_tree_test checks the tree's file against.
#include "box_office/disk.h"
#include "box_office/paymaster.h"
#include "understudy/transport/tree_factories.h"

understudy::ActorFactories understudy::TreeFactories() {
  static auto* const journal = new consumer::box_office::Journal;
  return consumer::box_office::OfficeFactories(journal);
}
