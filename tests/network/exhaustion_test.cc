#include <gtest/gtest.h>

#include "tests/network/test_network.h"
