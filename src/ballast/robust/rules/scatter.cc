#include "ballast/robust/rules/scatter.h"

#include <algorithm>
#include <cmath>

namespace ballast::robust {
namespace {

// Turns rows and columns p and q of a symmetric n x n matrix so that its element (p, q) becomes
// zero, and the columns p and q of `vectors` with them.
void rotate(std::span<double> matrix, std::span<double> vectors, std::size_t n, std::size_t p,
            std::size_t q) {
  const double theta = (matrix[q * n + q] - matrix[p * n + p]) / (2.0 * matrix[p * n + q]);
  const double tangent =
      (theta < 0.0 ? -1.0 : 1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1.0));
  const double cosine = 1.0 / std::sqrt(tangent * tangent + 1.0);
  const double sine = tangent * cosine;
  const auto turn = [&](double& left, double& right) {
    const double before = left;
    left = cosine * before - sine * right;
    right = sine * before + cosine * right;
  };
  for (std::size_t k = 0; k < n; ++k) turn(matrix[k * n + p], matrix[k * n + q]);
  for (std::size_t k = 0; k < n; ++k) turn(matrix[p * n + k], matrix[q * n + k]);
  for (std::size_t k = 0; k < n; ++k) turn(vectors[k * n + p], vectors[k * n + q]);
  matrix[p * n + q] = matrix[q * n + p] = 0.0;
}

// Jacobi's method: afterwards the diagonal holds the eigenvalues, the columns of `vectors` the
// eigenvectors. Requires: a matrix without negative eigenvalues whose trace is 1.
void diagonalise(std::span<double> matrix, std::span<double> vectors, std::size_t n) {
  constexpr int kSweepsMax = 40;  // fewer than ten are usual
  constexpr double kOffDiagonalMax = 1e-28;
  std::ranges::fill(vectors, 0.0);
  for (std::size_t i = 0; i < n; ++i) vectors[i * n + i] = 1.0;
  for (int sweep = 0; sweep < kSweepsMax; ++sweep) {
    double off_diagonal = 0.0;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        off_diagonal += matrix[p * n + q] * matrix[p * n + q];
      }
    }
    if (off_diagonal <= kOffDiagonalMax) return;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (matrix[p * n + q] != 0.0) rotate(matrix, vectors, n, p, q);
      }
    }
  }
}

}  // namespace

Scatter::Scatter(std::size_t rows_max, Workspace& workspace)
    : rows_(workspace.take<std::size_t>(rows_max)),
      roots_(workspace.take<double>(rows_max)),
      to_mean_(workspace.take<double>(rows_max)),
      centred_(workspace.take<double>(rows_max * rows_max)),
      matrix_(workspace.take<double>(rows_max * rows_max)),
      vectors_(workspace.take<double>(rows_max * rows_max)) {}

void Scatter::assign(const Gram& gram, std::span<const double> parts) {
  count_ = 0;
  double sum = 0.0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!(parts[i] > 0.0)) continue;
    sum += parts[i];
    roots_[count_] = std::sqrt(parts[i]);
    rows_[count_++] = i;
  }
  double mean = 0.0;
  for (std::size_t i = 0; i < count_; ++i) {
    to_mean_[i] = 0.0;
    for (std::size_t j = 0; j < count_; ++j) {
      to_mean_[i] += parts[rows_[j]] / sum * gram.product(rows_[i], rows_[j]);
    }
    mean += parts[rows_[i]] / sum * to_mean_[i];
  }
  for (std::size_t i = 0; i < count_; ++i) {
    for (std::size_t j = 0; j < count_; ++j) {
      centred_[i * count_ + j] =
          gram.product(rows_[i], rows_[j]) - (to_mean_[i] + to_mean_[j]) + mean;
    }
  }
}

double Scatter::largest(std::span<double> scores) {
  std::ranges::fill(scores, 0.0);
  double trace = 0.0;
  for (std::size_t i = 0; i < count_; ++i) trace += std::max(0.0, entry(i, i));
  if (!(trace > 0.0)) return 0.0;
  for (std::size_t i = 0; i < count_; ++i) {
    for (std::size_t j = 0; j < count_; ++j) matrix_[i * count_ + j] = entry(i, j) / trace;
  }
  const std::span<double> vectors = vectors_.first(count_ * count_);
  diagonalise(matrix_.first(count_ * count_), vectors, count_);
  const auto eigenvalue = [&](std::size_t k) { return matrix_[k * count_ + k]; };
  double largest = 0.0;
  for (std::size_t k = 0; k < count_; ++k) largest = std::max(largest, eigenvalue(k));
  if (!(largest > 0.0)) return 0.0;
  for (std::size_t k = 0; k < count_; ++k) {
    if (eigenvalue(k) < (1.0 - kEigenvalueTolerance) * largest) continue;
    // The direction is sum_j root_j u_j (x_j - mu) over the root of its eigenvalue. Scores taken
    // from it, and not from u_i / root_i, are accurate for rows that have hardly any part.
    for (std::size_t i = 0; i < count_; ++i) {
      double along = 0.0;
      for (std::size_t j = 0; j < count_; ++j) {
        along += roots_[j] * vectors[j * count_ + k] * at(i, j);
      }
      scores[rows_[i]] += along / (eigenvalue(k) * trace) * along;
    }
  }
  return largest * trace;
}

bool Scatter::is_below(double limit) {
  // It is if and only if limit - scatter has a Cholesky factor.
  const auto factor = [&](std::size_t i, std::size_t j) -> double& {
    return matrix_[i * count_ + j];
  };
  for (std::size_t j = 0; j < count_; ++j) {
    double pivot = limit - entry(j, j);
    for (std::size_t k = 0; k < j; ++k) pivot -= factor(j, k) * factor(j, k);
    if (!(pivot > 0.0)) return false;
    factor(j, j) = std::sqrt(pivot);
    for (std::size_t i = j + 1; i < count_; ++i) {
      double sum = -entry(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= factor(i, k) * factor(j, k);
      factor(i, j) = sum / factor(j, j);
    }
  }
  return true;
}

}  // namespace ballast::robust
