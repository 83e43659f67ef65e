//! Keys to work on: deduplicated, delayed, rate-limited, one worker per key.
