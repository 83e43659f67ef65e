//! Metrics in the Prometheus text format.
//!
//! Start at [`Exposition`]. Not here: the metrics themselves (`apiserver`, `etcd`).

use std::fmt::{Display, Write};

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A value that only increases.
    Counter,
    /// A value that may increase and decrease.
    Gauge,
    /// The distribution of values over buckets.
    Histogram,
}

/// The counts of a histogram.
#[derive(Clone, Copy, Debug)]
pub struct Observations<B> {
    /// The upper bounds, with the number of values up to each.
    pub cumulative: B,
    /// The number of values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}

/// Counts values in buckets.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// The upper bounds in order, with the number of values between each bound and the previous one.
    buckets: Vec<(f64, u64)>,
    count: u64,
    sum: f64,
}

impl Histogram {
    /// With these upper bounds, in order.
    pub fn new(bounds: impl IntoIterator<Item = f64>) -> Self {
        Self { buckets: bounds.into_iter().map(|bound| (bound, 0)).collect(), count: 0, sum: 0.0 }
    }

    /// Counts a value.
    pub fn observe(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        if let Some((_, count)) = self.buckets.iter_mut().find(|(bound, _)| value <= *bound) {
            *count += 1;
        }
    }

    /// The counts so far.
    pub fn observed(&self) -> Observations<Vec<(f64, u64)>> {
        let mut below = 0;
        let cumulative = self.buckets.iter().map(|(bound, count)| {
            below += count;
            (*bound, below)
        });
        Observations { cumulative: cumulative.collect(), count: self.count, sum: self.sum }
    }
}

/// The content of a `/metrics` response, written metric by metric.
#[derive(Clone, Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// Starts a metric; its samples follow.
    pub fn metric(&mut self, name: &str, kind: MetricKind, help: &str) {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A sample of a metric.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.begin_sample(name, labels);
        let _ = writeln!(self.0, " {value}");
    }

    /// A sample with a timestamp, in milliseconds since 1970.
    pub fn sample_at(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display, millis: i64) {
        self.begin_sample(name, labels);
        let _ = writeln!(self.0, " {value} {millis}");
    }

    fn begin_sample(&mut self, name: &str, labels: &[(&str, &str)]) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let _ = write!(self.0, "{}{label}=\"", if at == 0 { '{' } else { ',' });
            text.chars().for_each(|sign| self.push_escaped(sign));
            self.0.push('"');
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
    }

    /// All samples of a histogram with these labels.
    pub fn histogram<B: IntoIterator<Item = (f64, u64)>>(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        observed: Observations<B>,
    ) {
        let bucket = format!("{name}_bucket");
        let mut write = |bound: &str, count: u64| {
            self.sample(&bucket, &[labels, &[("le", bound)]].concat(), count);
        };
        observed.cumulative.into_iter().for_each(|(bound, count)| write(&bound.to_string(), count));
        write("+Inf", observed.count);
        self.sample(&format!("{name}_sum"), labels, observed.sum);
        self.sample(&format!("{name}_count"), labels, observed.count);
    }

    /// The text.
    pub fn into_text(self) -> String {
        self.0
    }

    fn push_escaped(&mut self, sign: char) {
        match sign {
            '\\' => self.0.push_str("\\\\"),
            '"' => self.0.push_str("\\\""),
            '\n' => self.0.push_str("\\n"),
            sign => self.0.push(sign),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_written_as_prometheus_reads_them() {
        let mut text = Exposition::default();
        text.metric("a_total", MetricKind::Counter, "As.");
        text.sample("a_total", &[], 3);
        text.sample("a_total", &[("b", "c"), ("d", "\"\\\n")], 1.5);
        text.sample_at("a_total", &[("b", "c")], 2, 1_000);
        let expected = "# HELP a_total As.\n# TYPE a_total counter\na_total 3\na_total{b=\"c\",d=\"\\\"\\\\\\n\"} 1.5\na_total{b=\"c\"} 2 1000\n";
        assert_eq!(text.into_text(), expected);
    }

    #[test]
    fn a_histogram_ends_with_all_that_was_observed() {
        let mut text = Exposition::default();
        text.histogram("h", &[("a", "b")], Observations { cumulative: [(0.5, 1), (2.0, 1)], count: 2, sum: 10.25 });
        let expected = "h_bucket{a=\"b\",le=\"0.5\"} 1\nh_bucket{a=\"b\",le=\"2\"} 1\nh_bucket{a=\"b\",le=\"+Inf\"} 2\nh_sum{a=\"b\"} 10.25\nh_count{a=\"b\"} 2\n";
        assert_eq!(text.into_text(), expected);
    }
}
