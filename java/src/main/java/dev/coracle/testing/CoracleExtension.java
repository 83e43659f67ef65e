package dev.coracle.testing;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.junit.platform.commons.support.AnnotationSupport;

/** The extension of JUnit 5 behind {@link CoracleCluster}. */
public final class CoracleExtension
    implements BeforeEachCallback, ParameterResolver, TestExecutionExceptionHandler, LifecycleMethodExecutionExceptionHandler {
  private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(CoracleExtension.class);

  /** A server in the store of the whole test run, which closes it. */
  private record Kept(CoracleServer server) implements ExtensionContext.Store.CloseableResource {
    @Override
    public void close() {
      server.close();
    }
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    cluster(context).startOver();
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == Coracle.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return cluster(context);
  }

  @Override
  public void handleTestExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
    throw withPage(context, failure);
  }

  @Override
  public void handleBeforeEachMethodExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
    throw withPage(context, failure);
  }

  private static Coracle cluster(ExtensionContext context) {
    var wanted = annotation(context).orElseThrow(() -> new ParameterResolutionException("annotate the class or the test with @CoracleCluster"));
    var options =
        new CoracleServer.Options(wanted.nodes(), wanted.kubernetes(), wanted.time(), wanted.seed(), 0, List.of(wanted.args()));
    var store = context.getRoot().getStore(NAMESPACE);
    var kept = store.getOrComputeIfAbsent(options, key -> new Kept(CoracleServer.start(options)), Kept.class);
    if (!kept.server().isRunning()) {
      kept.close();
      kept = new Kept(CoracleServer.start(options));
      store.put(options, kept);
    }
    return kept.server().cluster();
  }

  /** The annotation of the method, of its class, or of an enclosing class. */
  private static Optional<CoracleCluster> annotation(ExtensionContext context) {
    for (var at = Optional.of(context); at.isPresent(); at = at.get().getParent()) {
      var found = AnnotationSupport.findAnnotation(at.get().getElement(), CoracleCluster.class);
      if (found.isPresent()) {
        return found;
      }
    }
    return Optional.empty();
  }

  /** The failure, with the path of the page of its run as a suppressed exception, which its stack trace shows. */
  private static Throwable withPage(ExtensionContext context, Throwable failure) {
    var folder = annotation(context).map(CoracleCluster::reports).orElse("target/coracle-reports");
    var name = context.getRequiredTestClass().getName() + "." + context.getRequiredTestMethod().getName() + "." + context.getDisplayName();
    var file = name.replaceAll("[^A-Za-z0-9.-]+", "_");
    try {
      var page = cluster(context).report(Path.of(folder, file.substring(0, Math.min(file.length(), 150)) + ".html"));
      context.publishReportEntry("coracle.report", page.toString());
      failure.addSuppressed(new Page("the page of the run: " + page));
    } catch (CoracleException error) {
      failure.addSuppressed(new Page("there is no page of the run: " + error.getMessage()));
    }
    return failure;
  }

  /** Has a message only. */
  private static final class Page extends Exception {
    Page(String message) {
      super(message, null, false, false);
    }
  }
}
