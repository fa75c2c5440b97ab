// A square matrix of doubles cut into square tiles, each contiguous and column-major.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

class Tiles {
 public:
  // `n` rows and columns, a multiple of `tile`.
  Tiles(int n, int tile) : tile_(tile), blocks_(n / tile), size_(std::size_t(n) * n) {
    void* memory = std::aligned_alloc(64, size_ * sizeof(double));
    if (memory == nullptr) throw std::bad_alloc();
    data_.reset(static_cast<double*>(memory));
    std::fill_n(data_.get(), size_, 0.0);
  }

  int tile() const { return tile_; }
  int blocks() const { return blocks_; }
  std::size_t size() const { return size_; }
  double* data() const { return data_.get(); }

  // The tile in block row i, block column j.
  double* at(int i, int j) const {
    return data_.get() + (std::size_t(j) * blocks_ + i) * tile_ * tile_;
  }

  // One element by its row and column in the whole matrix.
  double& element(int row, int column) const {
    return at(row / tile_, column / tile_)[(column % tile_) * tile_ + row % tile_];
  }

  void copy_from(const Tiles& other) const { std::copy_n(other.data(), size_, data_.get()); }

  double sum() const {
    double total = 0;
    for (std::size_t i = 0; i < size_; ++i) total += data_[i];
    return total;
  }

 private:
  struct Free {
    void operator()(double* p) const { std::free(p); }
  };
  int tile_;
  int blocks_;
  std::size_t size_;
  std::unique_ptr<double[], Free> data_;
};

// Largest difference of two matrices, relative to the largest element of `reference`.
inline double largest_difference(const Tiles& result, const Tiles& reference) {
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double d = std::fabs(result.data()[i] - reference.data()[i]);
    if (!(d <= difference)) difference = d;  // also keeps a NaN
    largest = std::max(largest, std::fabs(reference.data()[i]));
  }
  return difference / largest;
}

// A value in [-0.5, 0.5) that depends on the indices alone: the same matrix in every run.
inline double element_value(std::uint64_t row, std::uint64_t column) {
  std::uint64_t x = row * 0x9E3779B97F4A7C15u + column * 0xC2B2AE3D27D4EB4Fu + 1;
  x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9u;
  x ^= x >> 29;
  return static_cast<double>(x >> 11) * 0x1p-53 - 0.5;
}
