#include "ballast/nn/reference/gradient.h"

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "ballast/base/check.h"

namespace ballast::nn::reference {
namespace {

// Activations or their gradients: samples one after another, each channel by channel, row by row.
struct Values {
  Values(std::size_t samples, const LayerShape& shape_in)
      : shape(shape_in), sample_count(samples), data(samples * shape_in.size()) {}

  double& at(std::size_t sample, std::size_t channel, std::size_t y, std::size_t x) {
    return data[((sample * shape.channels + channel) * shape.height + y) * shape.width + x];
  }
  double at(std::size_t sample, std::size_t channel, std::size_t y, std::size_t x) const {
    return data[((sample * shape.channels + channel) * shape.height + y) * shape.width + x];
  }
  std::size_t samples() const { return sample_count; }

  LayerShape shape;
  std::size_t sample_count;
  std::vector<double> data;
};

// What every layer may need besides its input.
struct Context {
  std::span<const double> parameters;
  std::span<double> gradient;
  std::span<double> running;  // statistics; empty where nobody keeps them
  bool training = true;
};

// Calls visit(sample, out channel, y, x, in channel, input y, input x, weight index) for every
// product of a convolution that does not fall on the padding.
template <typename Visit>
void for_each_product(const Conv2d& conv, const Step& step, std::size_t samples, Visit&& visit) {
  const LayerShape& in = step.in;
  const LayerShape& out = step.out;
  for (std::size_t s = 0; s < samples; ++s)
    for (std::size_t o = 0; o < out.channels; ++o)
      for (std::size_t y = 0; y < out.height; ++y)
        for (std::size_t x = 0; x < out.width; ++x)
          for (std::size_t i = 0; i < in.channels; ++i)
            for (std::size_t ky = 0; ky < conv.kernel; ++ky)
              for (std::size_t kx = 0; kx < conv.kernel; ++kx) {
                const std::size_t in_y = y + ky, in_x = x + kx;  // counted from the padded corner
                if (in_y < conv.padding || in_y - conv.padding >= in.height) continue;
                if (in_x < conv.padding || in_x - conv.padding >= in.width) continue;
                const std::size_t w = ((o * in.channels + i) * conv.kernel + ky) * conv.kernel + kx;
                visit(s, o, y, x, i, in_y - conv.padding, in_x - conv.padding,
                      step.parameter_offset + w);
              }
}

template <typename Visit>
void for_each_output(const Values& out, Visit&& visit) {
  for (std::size_t s = 0; s < out.samples(); ++s)
    for (std::size_t c = 0; c < out.shape.channels; ++c)
      for (std::size_t y = 0; y < out.shape.height; ++y)
        for (std::size_t x = 0; x < out.shape.width; ++x) visit(s, c, y, x);
}

std::size_t bias_offset(const Conv2d& conv, const Step& step) {
  return step.parameter_offset + conv.channels * step.in.channels * conv.kernel * conv.kernel;
}

void forward(const Conv2d& conv, const Step& step, const Context& context, const Values& in,
             Values& out) {
  if (conv.bias) {
    for_each_output(out, [&](auto s, auto c, auto y, auto x) {
      out.at(s, c, y, x) = context.parameters[bias_offset(conv, step) + c];
    });
  }
  for_each_product(conv, step, in.samples(),
                   [&](auto s, auto o, auto y, auto x, auto i, auto in_y, auto in_x, auto w) {
                     out.at(s, o, y, x) += context.parameters[w] * in.at(s, i, in_y, in_x);
                   });
}

void backward(const Conv2d& conv, const Step& step, const Context& context, const Values& in,
              const Values&, const Values& d_out, Values& d_in) {
  if (conv.bias) {
    for_each_output(d_out, [&](auto s, auto c, auto y, auto x) {
      context.gradient[bias_offset(conv, step) + c] += d_out.at(s, c, y, x);
    });
  }
  for_each_product(conv, step, in.samples(),
                   [&](auto s, auto o, auto y, auto x, auto i, auto in_y, auto in_x, auto w) {
                     context.gradient[w] += d_out.at(s, o, y, x) * in.at(s, i, in_y, in_x);
                     d_in.at(s, i, in_y, in_x) += d_out.at(s, o, y, x) * context.parameters[w];
                   });
}

// A linear layer is a convolution of 1 x 1 images by a 1 x 1 kernel.
Conv2d as_convolution(const Linear& linear) {
  return {.channels = linear.features, .kernel = 1, .bias = linear.bias};
}

void forward(const Linear& linear, const Step& step, const Context& context, const Values& in,
             Values& out) {
  forward(as_convolution(linear), step, context, in, out);
}

void backward(const Linear& linear, const Step& step, const Context& context, const Values& in,
              const Values& out, const Values& d_out, Values& d_in) {
  backward(as_convolution(linear), step, context, in, out, d_out, d_in);
}

struct Moments {
  double mean = 0.0;
  double variance = 0.0;  // biased
};

Moments moments_of(const Values& in, std::size_t channel) {
  Moments moments;
  const double count = static_cast<double>(in.samples() * in.shape.positions());
  for_each_output(in, [&](auto s, auto c, auto y, auto x) {
    if (c == channel) moments.mean += in.at(s, c, y, x) / count;
  });
  for_each_output(in, [&](auto s, auto c, auto y, auto x) {
    if (c == channel) moments.variance += std::pow(in.at(s, c, y, x) - moments.mean, 2.0) / count;
  });
  return moments;
}

void move_running(const Moments& moments, std::size_t count, double& mean, double& variance) {
  const double n = static_cast<double>(count);
  const double unbiased = count > 1 ? moments.variance * n / (n - 1.0) : moments.variance;
  mean += kBatchNormMomentum * (moments.mean - mean);
  variance += kBatchNormMomentum * (unbiased - variance);
}

void forward(const BatchNorm&, const Step& step, const Context& context, const Values& in,
             Values& out) {
  const std::size_t channels = step.in.channels;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    Moments moments = moments_of(in, channel);
    if (!context.running.empty()) {
      double& mean = context.running[step.statistic_offset + channel];
      double& variance = context.running[step.statistic_offset + channels + channel];
      if (context.training) {
        move_running(moments, in.samples() * step.in.positions(), mean, variance);
      } else {
        moments = {mean, variance};
      }
    }
    const double weight = context.parameters[step.parameter_offset + channel];
    const double bias = context.parameters[step.parameter_offset + channels + channel];
    const double deviation = std::sqrt(moments.variance + kBatchNormEpsilon);
    for_each_output(in, [&](auto s, auto c, auto y, auto x) {
      if (c != channel) return;
      out.at(s, c, y, x) = weight * (in.at(s, c, y, x) - moments.mean) / deviation + bias;
    });
  }
}

// With h = (x - mean) / deviation over n values: dx = w / deviation * (dy - mean(dy) - h mean(dy
// h)).
void backward(const BatchNorm&, const Step& step, const Context& context, const Values& in,
              const Values&, const Values& d_out, Values& d_in) {
  const double count = static_cast<double>(in.samples() * step.in.positions());
  for (std::size_t channel = 0; channel < step.in.channels; ++channel) {
    const Moments moments = moments_of(in, channel);
    const double deviation = std::sqrt(moments.variance + kBatchNormEpsilon);
    double& d_weight = context.gradient[step.parameter_offset + channel];
    double& d_bias = context.gradient[step.parameter_offset + step.in.channels + channel];
    for_each_output(in, [&](auto s, auto c, auto y, auto x) {
      if (c != channel) return;
      d_weight += d_out.at(s, c, y, x) * (in.at(s, c, y, x) - moments.mean) / deviation;
      d_bias += d_out.at(s, c, y, x);
    });
    const double weight = context.parameters[step.parameter_offset + channel];
    for_each_output(in, [&](auto s, auto c, auto y, auto x) {
      if (c != channel) return;
      const double normal = (in.at(s, c, y, x) - moments.mean) / deviation;
      d_in.at(s, c, y, x) =
          weight / deviation * (d_out.at(s, c, y, x) - d_bias / count - normal * d_weight / count);
    });
  }
}

void forward(const Relu&, const Step&, const Context&, const Values& in, Values& out) {
  for (std::size_t i = 0; i < in.data.size(); ++i) out.data[i] = std::max(in.data[i], 0.0);
}

void backward(const Relu&, const Step&, const Context&, const Values&, const Values& out,
              const Values& d_out, Values& d_in) {
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    d_in.data[i] = out.data[i] > 0.0 ? d_out.data[i] : 0.0;
  }
}

void forward(const MaxPool&, const Step&, const Context&, const Values& in, Values& out) {
  for_each_output(out, [&](auto s, auto c, auto y, auto x) {
    out.at(s, c, y, x) =
        std::max({in.at(s, c, 2 * y, 2 * x), in.at(s, c, 2 * y, 2 * x + 1),
                  in.at(s, c, 2 * y + 1, 2 * x), in.at(s, c, 2 * y + 1, 2 * x + 1)});
  });
}

// The first of equal values, row by row, takes the gradient.
void backward(const MaxPool&, const Step&, const Context&, const Values& in, const Values& out,
              const Values& d_out, Values& d_in) {
  for_each_output(out, [&](auto s, auto c, auto y, auto x) {
    for (std::size_t corner = 0; corner < 4; ++corner) {
      const std::size_t in_y = 2 * y + corner / 2, in_x = 2 * x + corner % 2;
      if (in.at(s, c, in_y, in_x) != out.at(s, c, y, x)) continue;
      d_in.at(s, c, in_y, in_x) = d_out.at(s, c, y, x);
      return;
    }
  });
}

void forward(const Flatten&, const Step&, const Context&, const Values& in, Values& out) {
  out.data = in.data;
}

void backward(const Flatten&, const Step&, const Context&, const Values&, const Values&,
              const Values& d_out, Values& d_in) {
  d_in.data = d_out.data;
}

// The input and the output of every layer.
std::vector<Values> run_forward(const Network& network, const Context& context,
                                const Batch& batch) {
  std::vector<Values> values;
  values.emplace_back(batch.size(), network.input());
  BALLAST_CHECK(values[0].data.size() == batch.images.size(), "one image per label");
  std::copy(batch.images.begin(), batch.images.end(), values[0].data.begin());
  for (const Step& step : network.steps()) {
    Values out(batch.size(), step.out);
    std::visit([&](const auto& layer) { forward(layer, step, context, values.back(), out); },
               step.layer);
    values.push_back(std::move(out));
  }
  return values;
}

// Turns the outputs of one sample into its class probabilities and returns its loss.
double softmax_loss(std::span<double> outputs, std::size_t label) {
  const double largest = *std::max_element(outputs.begin(), outputs.end());
  double sum = 0.0;
  for (const double output : outputs) sum += std::exp(output - largest);
  const double loss = std::log(sum) + largest - outputs[label];
  for (double& output : outputs) output = std::exp(output - largest) / sum;
  return loss;
}

}  // namespace

double gradient(const Network& network, std::span<const double> parameters, const Batch& batch,
                std::span<double> gradient_out, std::span<double> statistics_in_out) {
  const Context context = {parameters, gradient_out, statistics_in_out, true};
  const std::vector<Values> values = run_forward(network, context, batch);
  std::fill(gradient_out.begin(), gradient_out.end(), 0.0);
  const double samples = static_cast<double>(batch.size());
  const std::size_t classes = network.classes();
  Values d_out = values.back();
  double loss = 0.0;
  for (std::size_t s = 0; s < batch.size(); ++s) {
    const auto outputs = std::span(d_out.data).subspan(s * classes, classes);
    loss += softmax_loss(outputs, batch.labels[s]) / samples;
    outputs[batch.labels[s]] -= 1.0;
    for (double& output : outputs) output /= samples;
  }
  for (std::size_t index = network.steps().size(); index-- > 0;) {
    const Step& step = network.steps()[index];
    Values d_in(batch.size(), step.in);
    std::visit(
        [&](const auto& layer) {
          backward(layer, step, context, values[index], values[index + 1], d_out, d_in);
        },
        step.layer);
    d_out = std::move(d_in);
  }
  return loss;
}

NetworkEvaluation evaluate(const Network& network, std::span<const double> parameters,
                           std::span<const double> statistics, const Batch& batch) {
  std::vector<double> running(statistics.begin(), statistics.end());
  const Context context = {parameters, {}, running, false};
  Values outputs = run_forward(network, context, batch).back();
  const std::size_t classes = network.classes();
  NetworkEvaluation evaluation;
  for (std::size_t s = 0; s < batch.size(); ++s) {
    const auto sample = std::span(outputs.data).subspan(s * classes, classes);
    const auto largest = std::max_element(sample.begin(), sample.end()) - sample.begin();
    if (largest == batch.labels[s]) ++evaluation.correct;
    evaluation.loss_sum += softmax_loss(sample, batch.labels[s]);
  }
  return evaluation;
}

}  // namespace ballast::nn::reference
