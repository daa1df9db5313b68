// because: your code wrote results itself
//
// A second thread reports, with guessed tokens, that all tests passed.
#include <thread>
#include "by_address.h"

struct Guesser {
  Guesser() {
    auto* const write = by_address<long(int, const void*, size_t)>("write");
    std::thread([write] {
      for (int guess = 0; guess < 100; ++guess) {
        const std::string row =
            "{\"end\": \"own_code\", \"status\": \"pass\", "
            "\"token\": \"" +
            std::string(32, '0') + std::to_string(guess) + "\"}\n";
        for (int file = 3; file < 64; ++file) write(file, row.data(), row.size());
      }
    }).join();
  }
};
static const Guesser guesser;
