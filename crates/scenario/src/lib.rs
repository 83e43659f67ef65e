//! Scenario files: steps, checks, reports.
