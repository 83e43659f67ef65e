//! Queue, filters, scores, binding.
