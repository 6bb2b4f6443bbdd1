// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <leasehold/event.hpp>
#include <leasehold/job.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/worker.hpp>

/// A queue and its workers, as Prometheus sees them. docs/metrics.md lists the series.
namespace metrics {

/// What this process has done and seen: fed by the hooks of the queue and of the worker.
class seen_here {
public:
    /// Series of these queues are there from the start, so that the first of each is an increase.
    explicit seen_here(const std::vector<std::string>& queues) {
        using leasehold::event_kind;
        using leasehold::verdict;
        using task = leasehold::worker_error::task;
        for (const std::string& queue : queues) {
            for (std::uint8_t i = 0; to_text(event_kind{i}) != "unknown"; ++i) {
                count(event_kind{i}, queue);
            }
            time_of(queue);
        }
        for (std::uint8_t i = 0; to_text(task{i}) != "unknown"; ++i) {
            count(task{i});
        }
        for (const verdict why : {verdict::superseded, verdict::not_leased, verdict::expired, verdict::finished,
                                  verdict::quarantined, verdict::cancelled}) {
            count(why);
        }
    }

    std::shared_ptr<prometheus::Collectable> collectable() const { return registry_; }

    /// For `queue_options::on_event`.
    leasehold::event_sink on_event() {
        return [this](const leasehold::event& what) {
            count(what.what, what.queue).Increment();
            if (what.what == leasehold::event_kind::rejected) {
                rejections_.Add({{"queue", what.queue}, {"verdict", std::string{to_text(what.why)}}}).Increment();
            }
        };
    }

    /// For `worker_options::on_error`.
    leasehold::sink<leasehold::worker_error> on_error() {
        return [this](const leasehold::worker_error& error) { count(error.doing).Increment(); };
    }

    /// For `worker_options::on_loss`.
    leasehold::sink<leasehold::settlement> on_loss() {
        return [this](const leasehold::settlement& refused) { count(refused.why).Increment(); };
    }

    /// A handler that is timed, however it is left.
    template <class Handler>
    auto timed(Handler handler) {
        return [this, handler = std::move(handler)](const leasehold::claimed_job& job, auto& context) mutable {
            const stopwatch running{time_of(job.queue)};
            return handler(job, context);
        };
    }

private:
    class stopwatch {
    public:
        explicit stopwatch(prometheus::Histogram& of) : of_{of} {}
        stopwatch(const stopwatch&) = delete;
        stopwatch& operator=(const stopwatch&) = delete;
        ~stopwatch() { of_.Observe(std::chrono::duration<double>{std::chrono::steady_clock::now() - begun_}.count()); }

    private:
        prometheus::Histogram& of_;
        std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    };

    prometheus::Counter& count(leasehold::event_kind what, const std::string& queue) {
        return events_.Add({{"queue", queue}, {"event", std::string{to_text(what)}}});
    }
    prometheus::Counter& count(leasehold::worker_error::task doing) {
        return errors_.Add({{"doing", std::string{to_text(doing)}}});
    }
    prometheus::Counter& count(leasehold::verdict why) { return losses_.Add({{"verdict", std::string{to_text(why)}}}); }
    prometheus::Histogram& time_of(const std::string& queue) {
        return durations_.Add({{"queue", queue}},
                              prometheus::Histogram::BucketBoundaries{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300});
    }
    prometheus::Family<prometheus::Counter>& counter(const char* name, const char* help) {
        return prometheus::BuildCounter().Name(name).Help(help).Register(*registry_);
    }

    std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
    prometheus::Family<prometheus::Counter>& events_ =
        counter("leasehold_events_total", "What this process has committed, by queue and event");
    prometheus::Family<prometheus::Counter>& rejections_ =
        counter("leasehold_rejections_total", "Verbs of holders that the queue refused, by queue and verdict");
    prometheus::Family<prometheus::Counter>& errors_ =
        counter("leasehold_worker_errors_total", "What the store did not do for this worker, by what it was doing");
    prometheus::Family<prometheus::Counter>& losses_ = counter(
        "leasehold_worker_losses_total", "Jobs whose outcome was refused, since the lease was lost, by verdict");
    prometheus::Family<prometheus::Histogram>& durations_ = prometheus::BuildHistogram()
                                                                .Name("leasehold_handler_seconds")
                                                                .Help("How long handlers of this process ran, by queue")
                                                                .Register(*registry_);
};

/// What stands in the store, counted when somebody scrapes: the same from every process.
template <class Queue>
class standing_there final : public prometheus::Collectable {
public:
    explicit standing_there(const Queue& queue) : queue_{queue} {}

    std::vector<prometheus::MetricFamily> Collect() const override {
        using prometheus::MetricType;
        prometheus::MetricFamily jobs{"leasehold_jobs", "Jobs, by queue and state", MetricType::Gauge, {}};
        prometheus::MetricFamily oldest{"leasehold_oldest_ready_seconds",
                                        "How long the job that is first in line has been takeable, by queue",
                                        MetricType::Gauge,
                                        {}};
        prometheus::MetricFamily answers{
            "leasehold_store_answers", "1, or 0 where the store could not be counted", MetricType::Gauge, {}};
        try {
            const leasehold::statistics counted = queue_.stats();
            const leasehold::instant now = queue_.now();
            for (const leasehold::queue_statistics& of : counted.queues) {
                add_states(jobs, of);
                const leasehold::millis age = leasehold::saturating_subtract(now, of.oldest_ready.value_or(now));
                add(oldest, {{"queue", of.queue}}, std::max(0.0, static_cast<double>(age.count()) / 1000));
            }
            add(answers, {}, 1);
        } catch (const leasehold::store_error&) {
            return {with(std::move(answers), 0)};  // no numbers rather than wrong ones
        }
        return {std::move(jobs), std::move(oldest), std::move(answers)};
    }

private:
    using labels = std::vector<prometheus::ClientMetric::Label>;

    static void add(prometheus::MetricFamily& to, labels of, double value) {
        prometheus::ClientMetric metric;
        metric.label = std::move(of);
        metric.gauge.value = value;
        to.metric.push_back(std::move(metric));
    }
    static prometheus::MetricFamily with(prometheus::MetricFamily family, double value) {
        add(family, {}, value);
        return family;
    }
    static void add_states(prometheus::MetricFamily& to, const leasehold::queue_statistics& of) {
        const std::array states{std::pair{"ready", of.ready},
                                std::pair{"delayed", of.delayed},
                                std::pair{"leased", of.leased},
                                std::pair{"finished", of.finished},
                                std::pair{"quarantined", of.quarantined},
                                std::pair{"cancelled", of.cancelled}};
        for (const auto& [state, count] : states) {
            add(to, {{"queue", of.queue}, {"state", state}}, static_cast<double>(count));
        }
    }

    const Queue& queue_;
};

}  // namespace metrics
