package dev.coracle.testing;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Objects of other packages as maps. */
final class Objects {
  private static final TypeReference<Map<String, Object>> MAP = new TypeReference<>() {};

  private Objects() {}

  static Map<String, Object> toMap(Object object) {
    try {
      return object instanceof String text ? Connection.JSON.readValue(text, MAP) : Connection.JSON.convertValue(object, MAP);
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("expected an object in JSON: " + error.getOriginalMessage(), error);
    }
  }

  /** {@code pod/default/web-1}: the text itself, or the one of an object. */
  static String reference(Object about) {
    if (about instanceof String text) {
      return text;
    }
    var object = Connection.JSON.<com.fasterxml.jackson.databind.JsonNode>valueToTree(about);
    var metadata = object.path("metadata");
    var parts = Stream.of(object.path("kind"), metadata.path("namespace"), metadata.path("name")).map(part -> part.asText(""));
    var reference = parts.filter(part -> !part.isEmpty()).collect(Collectors.joining("/"));
    if (!object.hasNonNull("kind")) {
      throw new IllegalArgumentException("the object has no kind: write `KIND/NAMESPACE/NAME`, such as `pod/default/web-1`");
    }
    var end = reference.indexOf('/');
    return reference.substring(0, end).toLowerCase() + reference.substring(end);
  }
}
