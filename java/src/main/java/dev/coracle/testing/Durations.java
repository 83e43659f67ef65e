package dev.coracle.testing;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Pattern;

/** Durations as the control endpoint writes them, which is Go's text: {@code 1m30s}. */
final class Durations {
  private static final Map<String, Long> NANOS =
      Map.of("h", 3_600_000_000_000L, "m", 60_000_000_000L, "s", 1_000_000_000L, "ms", 1_000_000L, "us", 1_000L, "µs", 1_000L, "ns", 1L);
  private static final Pattern PART = Pattern.compile("(\\d+(?:\\.\\d*)?|\\.\\d+)(ms|us|µs|ns|h|m|s)");

  private Durations() {}

  static String text(Duration duration) {
    return duration == null ? null : duration.toNanos() / 1000 + "us";
  }

  static Duration parse(String text) {
    var parts = PART.matcher(text);
    var end = 0;
    var nanos = BigDecimal.ZERO;
    while (parts.find() && parts.start() == end) {
      nanos = nanos.add(new BigDecimal(parts.group(1)).multiply(BigDecimal.valueOf(NANOS.get(parts.group(2)))));
      end = parts.end();
    }
    if (end == 0 || end < text.length()) {
      throw new IllegalArgumentException("`" + text + "` is not a duration such as `24h` or `1m30s`");
    }
    return Duration.ofNanos(nanos.longValue());
  }
}
