/**
 * Coracle, the Kubernetes control plane in one program, for tests in Java.
 *
 * <pre>
 * JUnit --CoracleExtension--> Coracle --HTTPS, /coracle/v1--> coracle up, which ends with this process
 * </pre>
 *
 * Start at {@link dev.coracle.testing.CoracleCluster}, or at {@link dev.coracle.testing.CoracleServer} without JUnit.
 */
package dev.coracle.testing;
