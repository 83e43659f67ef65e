package dev.coracle.testing;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * Gives tests a cluster, as a parameter of type {@link Coracle}. Each test starts with the cluster as it started. Tests
 * with the same values share a server, which stops after the last test. The nearest annotation applies.
 *
 * <p>Tests with this annotation run one after the other in one JVM, because they share servers.
 */
@Documented
@Inherited
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(CoracleExtension.class)
@ResourceLock("dev.coracle.testing.CoracleCluster")
public @interface CoracleCluster {
  /** The number of simulated nodes. */
  int nodes() default 2;

  /** The release of Kubernetes, such as {@code 1.36}; empty for the newest. */
  String kubernetes() default "";

  /** {@code stepped}: the clock stands still until it is advanced. {@code real}, or {@code scaled=N}: N times as fast. */
  String time() default "stepped";

  /** The seed of names and uids; negative for one from the operating system. */
  long seed() default -1;

  /** More arguments of {@code coracle up}. */
  String[] args() default {};

  /** The folder for the pages of failed tests. */
  String reports() default "target/coracle-reports";
}
