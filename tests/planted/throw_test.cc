// Planted: an exception is thrown. GCC must refuse it under --config=noexcept.

#include <stdexcept>

#include "gtest/gtest.h"

TEST(Planted, AnExceptionIsThrown) { EXPECT_THROW(throw std::runtime_error("planted"), std::runtime_error); }
