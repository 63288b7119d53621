#pragma once
// The rules, each with its definition. `parse_rule` (registry.h) makes them from a text; these
// functions make them in code.
//
// Everywhere x_i is row i and s_i its weight.

#include <cstddef>
#include <cstdint>

#include "ballast/robust/rule.h"

namespace ballast::robust {

// mean: sum_i s_i x_i / sum_i s_i. Not robust: one row moves it anywhere.
RulePointer make_mean();

// cwmed: the weighted coordinate-wise median (Yin et al. 2018; weighted: Dahan and Levy 2024, 3.2).
//
// In each coordinate, with the rows sorted by value: the value at which the cumulative weight first
// exceeds half of the total; if some prefix weighs exactly half, the mean of the two neighbours.
// Weights are compared as whole numbers, so ties are exact. Equal weights give the plain median.
RulePointer make_cwmed();

// gm: the weighted geometric median (Chen et al. 2017; weighted: Dahan and Levy 2024, 3.2), the
// point y that minimises f(y) = sum_i s_i |y - x_i|.
//
// Converged to a tolerance by default: f(y) - min f <= tolerance * f(y). The solver works on the
// inner products of the rows alone (solver/gram.h), so its cost does not depend on the dimension:
// 1. if the row of smallest objective satisfies the optimality condition
//    |sum over the others of s_i (x_k - x_i) / |x_k - x_i|| <= s_k, it is the answer, exactly
//    (of several such rows, which there are only on a line, the mean by weight);
// 2. else it leaves that row by the step of Vardi and Zhang (2000), after which the objective is
//    below that of every row and no iterate can meet one; it goes on by Newton steps, and by
//    Weiszfeld's step wherever a Newton step does not descend.
// It stops when 2 |gradient| <= tolerance * sum s: as |y - argmin f| <= 2 f(y) / sum s, convexity
// then gives the bound above.
//
// gm(iterations=N) instead takes N plain Weiszfeld steps, for comparison with the literature: from
// the weighted mean, or with start=zero from the origin, as the authors' code does with N = 3.
struct GmOptions {
  double tolerance = 1e-6;
  std::size_t iterations = 0;  // 0: until converged
  bool starts_at_zero = false;
};

// Requires: tolerance > 0; starts_at_zero only with iterations > 0.
RulePointer make_gm(const GmOptions& options = {});

// ctma(BASE, LAMBDA): the weighted centred trimmed meta aggregator (Dahan and Levy 2024, Algorithm
// 1).
//
// x_0 = BASE(rows). Take the rows in order of their distance from x_0 (ties by row number) until
// their weights add up to (1 - LAMBDA) of the total, the last one in part, and average what was
// taken by weight. Lemma 3.1: if BASE is (c, LAMBDA)-robust, this is (60 LAMBDA (1 + c),
// LAMBDA)-robust.
//
// Requires: 0 <= lambda < 1/2.
RulePointer make_ctma(RulePointer base, double lambda);

// cwtm(LAMBDA): the weighted coordinate-wise trimmed mean (Yin et al. 2018).
//
// In each coordinate, with the rows sorted by value: cut the share LAMBDA of the total weight from
// either end, splitting the rows at the cuts, and average the rest by weight. With m equal weights
// and LAMBDA = f / m this drops the f smallest and the f largest values.
//
// Requires: 0 <= lambda < 1/2.
RulePointer make_cwtm(double lambda);

// krum(LAMBDA) and multikrum(LAMBDA): the row, or the rows, in the densest company (Blanchard et
// al. 2017), in weighted form.
//
// The score of row i is the sum of the squared distances to its nearest other rows, each counted
// with its weight, until weight (1 - LAMBDA) W - s_i - W/m is counted (the last row in part; never
// less than W/m). W is the total weight. With m equal weights and LAMBDA = f / m these are the
// m - f - 2 nearest rows of the original. krum is the row of smallest score; multikrum takes rows
// in order of score until their weight is (1 - LAMBDA) W, the last in part, and averages them. Ties
// are broken by row number.
//
// Requires: 0 <= lambda < 1/2.
RulePointer make_krum(double lambda);
RulePointer make_multikrum(double lambda);

// mda(LAMBDA): minimum-diameter averaging (El Mhamdi et al. 2018), in weighted form.
//
// Among the sets of rows that hold at least 1 - LAMBDA of the weight take one whose largest
// distance between two members is smallest (of several the heaviest, then the first in order of row
// numbers), and average it by weight. With m equal weights and LAMBDA = f / m these are sets of
// m - f rows (more only where distances tie).
//
// The search is exact: it lists the maximal cliques of the graph of near rows, at most 3^(m/3) of
// them, so the rule takes at most kMdaRowsMax rows and refuses more.
inline constexpr std::size_t kMdaRowsMax = 32;

// Requires: 0 <= lambda < 1/2.
RulePointer make_mda(double lambda);

// meamed(LAMBDA): the mean around the median (Xie et al. 2018), in weighted form.
//
// In each coordinate: take the values nearest to the weighted median (ties by row number) until
// their weights add up to (1 - LAMBDA) of the total, the last one in part, and average what was
// taken by weight. With m equal weights and LAMBDA = f / m these are the m - f nearest values.
//
// Requires: 0 <= lambda < 1/2.
RulePointer make_meamed(double lambda);

// bulyan(LAMBDA): krum again and again, then the mean around the median (El Mhamdi et al. 2018), in
// weighted form.
//
// Rows are chosen one after the other until their weight is (1 - 2 LAMBDA) W, the last in part:
// each time the one of smallest score among those left. The score of row i is the sum of the
// squared distances to its nearest rows among those left, each counted with its weight, until
// weight L - LAMBDA W - s_i - W/m is counted (never less than W/m), L being the weight that is
// left. Then in each coordinate the values of the chosen rows nearest to their median are averaged
// by chosen weight, until weight (1 - 4 LAMBDA) W is reached, the last in part. With m equal
// weights and LAMBDA = f / m these are m - 2 f rows, scores of the nearest m' - f - 2 of m' rows
// left, and m - 4 f values. Ties are broken by row number.
//
// Requires: 0 <= lambda < 1/4.
RulePointer make_bulyan(double lambda);

// cge(LAMBDA): comparative gradient elimination (Gupta et al. 2021), in weighted form.
//
// Take the rows in order of their norms (ties by row number) until their weights add up to
// (1 - LAMBDA) of the total, the last one in part, and average them by weight. With m equal weights
// and LAMBDA = f / m these are the m - f shortest rows; the paper adds them up, which is another
// step size.
//
// Requires: 0 <= lambda < 1/2.
RulePointer make_cge(double lambda);

// monna(LAMBDA, row=R): the mean of the rows nearest to row R (Farhadkhani et al. 2023), in
// weighted form.
//
// R itself, then the others in order of their distance from it, until their weights add up to
// (1 - LAMBDA) of the total, the last one in part. In the paper each peer trusts its own vector; a
// server must have a row it trusts. Rows are counted among those that exist; the last one stands in
// where there are fewer.
//
// Requires: 0 <= lambda < 1/2.
RulePointer make_monna(double lambda, std::size_t row);

// smea(LAMBDA): smallest maximum eigenvalue averaging (Allouah et al. 2023b), in weighted form.
//
// The scatter of a set of rows is sum_i s_i (x_i - mu)(x_i - mu)^T over its rows, mu their mean by
// weight. Among the sets of whole rows that hold at least 1 - LAMBDA of the weight take one whose
// scatter has the smallest largest eigenvalue, and average it by weight. With m equal weights and
// LAMBDA = f / m these are sets of m - f rows, all of one size, so that the covariance of the
// original and the scatter order them alike. Of sets that differ by less than 1e-9 of that
// eigenvalue the one found first is taken.
//
// The search is exact: it grows sets row by row as long as their eigenvalue is below the best one
// found, in the worst case through most of 2^m sets, so the rule takes at most kSmeaRowsMax rows
// and refuses more.
inline constexpr std::size_t kSmeaRowsMax = 20;

// Requires: 0 <= lambda < 1/2.
RulePointer make_smea(double lambda);

// caf(LAMBDA): the covariance-bound agnostic filter (Allouah et al. 2025b), in weighted form.
//
// Every row begins with the factor c_i = 1. In each round: mu and Sigma are mean and covariance of
// the rows by c_i s_i; tau_i is the squared length of x_i - mu along the eigenvector of the largest
// eigenvalue of Sigma; c_i *= 1 - tau_i / tau_max, tau_max being the largest of the rows that still
// have a factor, which thus loses it. Rounds go on while the sum of c_i s_i exceeds
// (1 - 2 LAMBDA) W. The result is the mu of the round whose largest eigenvalue was smallest, the
// first of equal ones; with LAMBDA = 0 it is the mean.
//
// Requires: 0 <= lambda < 1/2.
RulePointer make_caf(double lambda);

// dnc(LAMBDA): divide and conquer (Shejwalkar and Houmansadr 2021), in weighted form.
//
// In each iteration draw some coordinates; with mu the mean by weight of the rows cut down to them,
// the score of row i is the squared length of x_i - mu along the direction in which these rows, by
// weight, spread most. Keep the rows of smallest score (ties by row number; scores that differ by
// 1e-12 of the largest tie) up to weight 1 - filter * LAMBDA of the total, the last in part. The
// result is the mean by weight of what all iterations kept, of a row the smallest fraction; if they
// have nothing in common, by the mean fraction. With equal weights and LAMBDA = f / m this is the
// original. The coordinates are a function of (seed, draw), all of them where there are not more.
struct DncOptions {
  double lambda = 0.0;
  std::size_t iterations = 1;
  std::size_t coordinates = 10000;
  double filter = 1.0;
  std::uint64_t seed = 0;
};

// Requires: 0 <= lambda < 1/2, iterations >= 1, coordinates >= 1, 0 <= filter <= 2.
RulePointer make_dnc(const DncOptions& options);

// cclip(BASE, RADIUS, steps=N): centred clipping (Karimireddy et al. 2021), in weighted form.
//
// From v = BASE(rows), N times: v += sum_i s_i / W (x_i - v) min(1, RADIUS / |x_i - v|). The paper
// starts at the result before, zero at first: cclip(previous, RADIUS). Any other rule may give the
// start as well.
//
// Requires: radius > 0, steps >= 1.
RulePointer make_cclip(RulePointer base, double radius, std::size_t steps);

// previous: the result of the call before over the same table, zero at first. By itself it stays
// zero; it is the start of the stateful form of cclip.
RulePointer make_previous();

// clip(BASE, RADIUS): BASE on the rows x_i min(1, RADIUS / |x_i|), with the old weights.
//
// Requires: radius > 0.
RulePointer make_clip(RulePointer base, double radius);

// arc(BASE, LAMBDA): adaptive robust clipping (Allouah et al. 2025), in weighted form.
//
// clip(BASE, r), where r is the norm of the row at which the rows, shortest first (ties by row
// number), reach the weight 1 - 2 LAMBDA (1 - LAMBDA) of the total. With m equal weights and
// LAMBDA = f / m the floor(2 f (m - f) / m) longest rows are shortened to the length of the next.
//
// Requires: 0 <= lambda < 1/2.
RulePointer make_arc(RulePointer base, double lambda);

// nnm(BASE, LAMBDA): nearest-neighbour mixing (Allouah et al. 2023), in weighted form.
//
// Each row is replaced by the mean, by weight, of its nearest rows, itself included, until weight
// (1 - LAMBDA) of the total is reached, the last in part; BASE then aggregates the new rows with
// the old weights. With m equal weights and LAMBDA = f / m these are the m - f nearest rows.
//
// Requires: 0 <= lambda < 1/2.
RulePointer make_nnm(RulePointer base, double lambda);

// distinct(BASE, RATIO): BASE where rows that agree better than independent rows can share one
// weight. The rule is ours.
//
// The scale S of the table is the median over the rows i of the median over the rows j of
// |x_i - x_j|, by weight, the row itself included (the estimator S_n of Rousseeuw and Croux 1993).
// The near rows of i are i itself and those at a distance below RATIO * S, and its weight becomes
// s_i max s_j / sum s_j, both over its near rows: rows that coincide weigh together what the
// heaviest of them weighs alone. Where all rows are distinct the result is that of BASE.
//
// Requires: 0 <= ratio < 1/2, so that no row is near to two that are S apart.
RulePointer make_distinct(RulePointer base, double ratio);

// bucketing(BASE, S): random buckets of S rows, then BASE (Karimireddy et al. 2022), in weighted
// form.
//
// The rows are shuffled and cut into buckets of S, the last one perhaps smaller. A bucket's value
// is the mean of its rows by weight, its weight the mean of their weights; BASE aggregates the
// buckets. Equal weights give the original, in which all buckets count alike. The permutation is a
// function of (seed, draw): a server passes the model version as the draw, so that runs repeat.
//
// Requires: size >= 1.
RulePointer make_bucketing(RulePointer base, std::size_t size, std::uint64_t seed);

// unweighted(RULE): the rule with every weight equal, as in the synchronous literature.
RulePointer make_unweighted(RulePointer base);

}  // namespace ballast::robust
