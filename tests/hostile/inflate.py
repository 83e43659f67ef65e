"""Makes large bodies of small objects by structure: lists, maps, texts, numbers and depth, in JSON, YAML and protobuf."""

import json

from kinds import example, named, resolved

LIST, MAP, RAW = "[]", "{}", "@raw@"
KEYS = ("name", "key", "containerPort", "port", "mountPath", "devicePath", "ip", "path", "topologyKey", "uid", "type", "value", "host", "expression")


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def places(schema, schemas, path=(), above=(), found=None):
    """The paths to all lists, maps, texts and numbers of a schema; a schema within itself twice at the most."""
    found = [] if found is None else found
    name = named(schema)
    if len(path) > 16 or name and above.count(name) > 1:
        return found
    above = above + (name,) if name else above
    schema = resolved(schema, schemas)
    if path and (schema.get("type") or "additionalProperties" in schema or schema.get("x-kubernetes-int-or-string")) and schema.get("type") != "boolean":
        found.append(path)
    if "items" in schema:
        places(schema["items"], schemas, path + (LIST,), above, found)
    if isinstance(schema.get("additionalProperties"), dict):
        places(schema["additionalProperties"], schemas, path + (MAP,), above, found)
    for field, each in schema.get("properties", {}).items():
        if field not in ("apiVersion", "kind") or path:
            places(each, schemas, path + (field,), above, found)
    return found


def put(value, schema, schemas, path, leaf, spread=1, number=None):
    """The value with `leaf(schema)` at the path; each list on the way has `spread` items."""
    schema = resolved(schema, schemas)
    if not path:
        return leaf(schema)
    step, rest = path[0], path[1:]
    if step == LIST:
        first = value[0] if isinstance(value, list) and value else None
        inner = put(first, schema.get("items", {}), schemas, rest, leaf, spread)
        return [varied(inner, n) for n in range(spread)] if spread > 1 else [inner]
    if step == MAP:
        return {"a": put(None, schema["additionalProperties"], schemas, rest, leaf, spread)}
    value = dict(value) if isinstance(value, dict) else example(schema, schemas)
    value[step] = put(value.get(step), schema["properties"].get(step, {}), schemas, rest, leaf, spread)
    return value


def varied(item, number, but=None):
    """The item with another key: the first of KEYS that it has, or any text; `but` stays as it is."""
    if isinstance(item, str):
        return f"{item}-{number}"
    if not isinstance(item, dict):
        return number if isinstance(item, (int, float)) else item
    field = next((each for each in KEYS if each in item and each != but), None)
    field = field or next((each for each in item if isinstance(item[each], (str, int)) and each != but), None)
    if field is None:
        return {field: varied(each, number) for field, each in item.items()} if item else {f"a{number}": number}
    old = item[field]
    new = 1 + number % 65535 if isinstance(old, int) and not isinstance(old, bool) else f"/a/{number}" if str(old).startswith("/") else f"a-{number}"
    if field == "ip":
        new = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return {**item, field: new}


# Long texts: repetitive, hostile to patterns that go back, unicode, almost a name, references, numbers.
TEXTS = {
    "repeated": lambda budget: "a" * budget,
    "labels": lambda budget: "a." * (budget // 2),
    "hyphens": lambda budget: "a-" * (budget // 2) + "!",
    "slashes": lambda budget: "/a" * (budget // 2),
    "dots": lambda budget: "../" * (budget // 3),
    "almost names": lambda budget: "a" * 62 + ("." + "a" * 63) * (budget // 64) + "_",
    "commas": lambda budget: "a=b," * (budget // 4),
    "unicode": lambda budget: "é" * (budget // 2),
    "astral": lambda budget: "\U0001f600" * (budget // 4),
    "references": lambda budget: "$(A)" * (budget // 4),
    "braces": lambda budget: "{{" * (budget // 2),
    "brackets": lambda budget: "[" * budget,
    "parentheses": lambda budget: "(" * budget,
    "plus": lambda budget: "1+" * (budget // 2) + "1",
    "and": lambda budget: "true&&" * (budget // 6) + "true",
    "digits": lambda budget: "1" * budget,
    "fraction": lambda budget: "0." + "3" * budget,
    "quantity": lambda budget: "1" * budget + "Ki",
    "exponent": lambda budget: "1e" + "9" * min(budget, 1000),
    "lines": lambda budget: "a\n" * (budget // 2),
    "controls": lambda budget: "\x01" * (budget // 6),
    "blanks": lambda budget: " " * budget,
    "quotes": lambda budget: '"' * (budget // 2),
    "colons": lambda budget: "a:" * (budget // 2),
    "selector": lambda budget: "a in (" + "b," * (budget // 2) + "c)",
    "addresses": lambda budget: "1.2.3.4," * (budget // 8),
    "colon addresses": lambda budget: "f:" * (budget // 2),
    "base64": lambda budget: "QUFB" * (budget // 4),
    "certificates": lambda budget: "-----BEGIN CERTIFICATE-----\nQUFB\n-----END CERTIFICATE-----\n" * (budget // 58),
    "cron": lambda budget: "*/1," * (budget // 4) + "1 * * * *",
    "pattern": lambda budget: "(a|aa)+" * (budget // 7),
    "classes": lambda budget: "[a-z]{1,9}" * (budget // 10),
    "time": lambda budget: "2026-01-01T00:00:00." + "1" * budget + "Z",
    "duration": lambda budget: "1h" * (budget // 2),
    "json": lambda budget: '{"a":' * (budget // 5),
    "percent": lambda budget: "%41" * (budget // 3),
}


def long_text(rng, budget):
    name = rng.choice(sorted(TEXTS))
    return name, TEXTS[name](budget)


def raw(rng, budget):
    """Text of JSON that no value of Python has: repeated keys, depth, numbers of many digits."""
    depth = rng.choice((60, 120, 490, 9_000, budget // 8))
    choices = {
        "repeated keys": lambda: "{" + ",".join(['"a":1'] * (budget // 6)) + "}",
        "repeated keys of name": lambda: "{" + ",".join(['"name":"a"'] * (budget // 11)) + "}",
        f"{depth} lists in each other": lambda: "[" * depth + "]" * depth,
        f"{depth} objects in each other": lambda: '{"a":' * depth + "1" + "}" * depth,
        f"wide at {depth} levels": lambda: '{"a":' * depth + "[" + ",".join(["[]"] * (budget // 3)) + "]" + "}" * depth,
        "a number of many digits": lambda: "1" * budget, "a fraction of many digits": lambda: "0." + "7" * budget, "1e999999999": lambda: "1e999999999", "-1e-999999999": lambda: "-1e-999999999",
        "numbers of 19 digits": lambda: "[" + ",".join(["9223372036854775807"] * (budget // 20)) + "]",
        "fractions": lambda: "[" + ",".join(["1.7976931348623157e308"] * (budget // 23)) + "]",
        "escapes": lambda: '"' + "\\u0041" * (budget // 6) + '"', "lone surrogates": lambda: '"' + "\\ud800" * (budget // 6) + '"', "blanks": lambda: " " * budget + "{}",
        "empty objects": lambda: "[" + ",".join(["{}"] * (budget // 3)) + "]", "empty lists": lambda: "[" + ",".join(["[]"] * (budget // 3)) + "]",
        "nulls": lambda: "[" + ",".join(["null"] * (budget // 5)) + "]", "empty texts": lambda: "[" + ",".join(['""'] * (budget // 3)) + "]", "ones": lambda: "[" + ",".join("1" * (budget // 2)) + "]",
        "keys of a letter": lambda: "{" + ",".join(f'"{n:x}":1' for n in range(budget // 9)) + "}",
    }
    name = rng.choice(sorted(choices))
    return name, choices[name]()


def inflated(rng, schema, schemas, budget):
    """What is put at a place, with its description: a value, or RAW with the text that takes its place."""
    kind = schema.get("type") or ("object" if "additionalProperties" in schema else "string")
    if rng.random() < 0.12:
        name, text = raw(rng, budget)
        return name, RAW, text
    if kind == "array":
        item = example(schema.get("items", {}), schemas, full=rng.random() < 0.3)
        mode = rng.choice(("the same", "the same", "distinct", "distinct", "distinct", "one key", "empty", "one long"))
        if mode == "empty":
            item = {} if isinstance(item, dict) else ""
        if mode == "one long" and isinstance(item, str):
            name, long = long_text(rng, budget)
            return f"one text of {name}", [long], None
        if mode == "one key" and isinstance(item, dict):
            key = next((each for each in KEYS if each in item), None)
            make = lambda n: varied(item, n, but=key)
        elif mode in ("distinct", "one key"):
            make = lambda n: varied(item, n)
        else:
            make = lambda n: item
        count = max(1, budget // (len(compact(make(99_999)).encode()) + 1))
        return f"{count} items, {mode}", [make(n) for n in range(count)], None
    if kind == "object":
        value = example(schema["additionalProperties"], schemas) if isinstance(schema.get("additionalProperties"), dict) else "a"
        mode = rng.choice(("short keys", "long keys", "keys of one prefix", "keys that are no names", "keys of a domain", "one key"))
        shape = {"short keys": "{:x}", "long keys": "{:063}", "keys of one prefix": "a" * 200 + "{}", "keys that are no names": "é_{}/$", "keys of a domain": "a.example.com/{}"}.get(mode)
        if shape is None:
            name, long = long_text(rng, budget)
            return f"one key of {name}", {long: value}, None
        count = max(1, budget // (len(compact({shape.format(99_999): value}).encode()) - 1))
        return f"{count} {mode}", {shape.format(n): value for n in range(count)}, None
    if kind in ("integer", "number"):
        value = rng.choice((2**31 - 1, 2**31, 2**63 - 1, 2**63, -1, -(2**63), 0, 10**400, 1e308, 0.1))
        return f"number {value:.3e}" if isinstance(value, float) else f"number of {len(str(value))} digits", value, None
    name, long = long_text(rng, budget)
    return f"text of {name}", long, None


def as_yaml(value, indent=0):
    """YAML of blocks, in lines."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        for key, each in value.items():
            if isinstance(each, (dict, list)) and each:
                yield f"{pad}{json.dumps(key)}:\n"
                yield from as_yaml(each, indent + 1)
            else:
                yield f"{pad}{json.dumps(key)}: {json.dumps(each)}\n"
    elif isinstance(value, list) and value:
        for each in value:
            if isinstance(each, (dict, list)) and each:
                yield f"{pad}-\n"
                yield from as_yaml(each, indent + 1)
            else:
                yield f"{pad}- {json.dumps(each)}\n"
    else:
        yield f"{pad}{json.dumps(value)}\n"


# Protobuf, without a schema: fields are multiplied where they are.


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def read_varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return number, at
        if shift > 63:
            raise IndexError


def fields(data):
    """The fields of a message as (number, bytes of the whole field, content or None), or None if it is no message."""
    found, at = [], 0
    try:
        while at < len(data):
            start = at
            tag, at = read_varint(data, at)
            if tag >> 3 == 0 or tag & 7 not in (0, 1, 2, 5):
                return None
            content = None
            if tag & 7 == 0:
                _, at = read_varint(data, at)
            elif tag & 7 == 2:
                size, at = read_varint(data, at)
                content, at = data[at:at + size], at + size
            else:
                at += 8 if tag & 7 == 1 else 4
            if at > len(data):
                return None
            found.append((tag >> 3, data[start:at], content))
    except IndexError:
        return None
    return found


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def messages(data, path=(), found=None):
    """The paths to all that may be messages: positions of fields within each other."""
    found = [] if found is None else found
    parts = fields(data)
    if parts is None:
        return found
    found.append(path)
    for position, (_, _, content) in enumerate(parts):
        if content and len(path) < 12:
            messages(content, path + (position,), found)
    return found


def changed(data, path, change):
    parts = fields(data)
    if not path:
        return change(data, parts)
    return b"".join(
        field(number, changed(content, path[1:], change)) if position == path[0] else whole
        for position, (number, whole, content) in enumerate(parts))


def protobuf(rng, body, budget):
    """A body in protobuf, one of whose messages has a field many times: one that it has, an empty one, or one of many."""
    envelope = body[4:]
    start = next(position for position, (number, _, _) in enumerate(fields(envelope)) if number == 2)
    path = rng.choice([each for each in messages(envelope) if each[:1] == (start,)])
    mode, number = rng.choice(("own", "empty", "empty", "empty", "nested", "varint")), rng.randint(1, 50)

    def change(data, parts):
        if mode == "own" and parts:
            whole = rng.choice(parts)[1]
            return data + whole * (budget // len(whole))
        if mode == "varint":
            whole = varint(number << 3) + varint(2**64 - 1)
            return data + whole * (budget // len(whole))
        inner = field(rng.randint(1, 20), b"") * rng.choice((1, 10, 1000)) if mode == "nested" else b""
        whole = field(number, inner)
        return data + whole * (budget // len(whole))

    return f"protobuf at {path[1:]}, field {number}, {mode}", body[:4] + changed(envelope, path, change)
