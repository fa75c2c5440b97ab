// Where members are among the places, whatever their numbers are.
#include "omp/placement.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace roost::omp {
namespace {

RC_GTEST_PROP(Placement, KeepsWhatTheStandardSays, ()) {
  Placement outer;
  outer.count = *rc::gen::inRange(1u, 40u);
  outer.first = *rc::gen::inRange(0u, 20u);
  outer.place = outer.first + *rc::gen::inRange(0u, outer.count);
  auto size = *rc::gen::inRange(1u, 100u);
  auto bind = *rc::gen::element(Bind::primary, Bind::close, Bind::spread);
  std::vector<unsigned> at(outer.first + outer.count);
  unsigned covered = 0;
  Placement before;
  for (unsigned i = 0; i < size; ++i) {
    Placement own = divide(outer, bind, size, i);
    RC_ASSERT(own.first >= outer.first && own.first + own.count <= outer.first + outer.count);
    RC_ASSERT(own.place >= own.first && own.place < own.first + own.count);
    if (i == 0) RC_ASSERT(own.place == outer.place);
    ++at[own.place];
    if (bind != Bind::spread || size == 1) {
      RC_ASSERT(own.first == outer.first && own.count == outer.count);
    } else if (size <= outer.count) {
      RC_ASSERT(own.count == outer.count / size || own.count == outer.count / size + 1);
      if (i) RC_ASSERT(own.place == own.first);
      if (i) RC_ASSERT(own.first == before.first + before.count || own.first == outer.first);
      covered += own.count;
    } else {
      RC_ASSERT(own.count == 1u);
    }
    before = own;
  }
  if (bind == Bind::spread && size > 1 && size <= outer.count) RC_ASSERT(covered == outer.count);
  if (bind == Bind::primary) RC_ASSERT(at[outer.place] == size);
  for (unsigned place = outer.first; bind != Bind::primary && place < at.size(); ++place) {
    RC_ASSERT(at[place] <= size / outer.count + (size % outer.count != 0));
    RC_ASSERT(at[place] >= size / outer.count);
  }
}

TEST(Placement, WithoutPlacesIsNone) { EXPECT_EQ(divide({}, Bind::spread, 4, 3), Placement()); }

}  // namespace
}  // namespace roost::omp
