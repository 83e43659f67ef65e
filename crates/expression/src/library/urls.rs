//! URLs with Go's rules. In Kubernetes: `library.URLs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::{go_quote, percent};

use crate::fault::Fault;
use crate::meter::Meter;
use crate::value::{Key, Map, Opaque, Text, Url, Value};

use super::function::Function;

type Result<'v> = std::result::Result<Value<'v>, Fault>;

pub(super) fn find(name: &str) -> Option<Function> {
    Some(match name {
        "url" => |arguments, _| match arguments {
            [Value::String(text)] => match parse(text) {
                Ok(url) => Ok(Value::opaque(Opaque::Url(url))),
                Err(why) => Err(Fault::new(format!("URL parse error during conversion from string: {why}"))),
            },
            _ => Err(Fault::no_overload()),
        },
        "isURL" => |arguments, _| match arguments {
            [Value::String(text)] => Ok(Value::Bool(parse(text).is_ok())),
            _ => Err(Fault::no_overload()),
        },
        "getScheme" => |arguments, _| text(arguments, |url| url.scheme.clone()),
        "getHost" => |arguments, _| text(arguments, |url| url.host.clone()),
        "getHostname" => |arguments, _| text(arguments, |url| host_and_port(&url.host).0.to_owned()),
        "getPort" => |arguments, _| text(arguments, |url| host_and_port(&url.host).1.to_owned()),
        "getEscapedPath" => |arguments, _| text(arguments, |url| url.path.clone()),
        "getQuery" => query,
        _ => return None,
    })
}

fn only<'a>(arguments: &'a [Value<'_>]) -> std::result::Result<&'a Url, Fault> {
    match arguments {
        [Value::Opaque(opaque)] => match &**opaque {
            Opaque::Url(url) => Ok(url),
            _ => Err(Fault::no_overload()),
        },
        _ => Err(Fault::no_overload()),
    }
}

fn text<'v>(arguments: &[Value<'v>], part: fn(&Url) -> String) -> Result<'v> {
    only(arguments).map(|url| Value::string(part(url)))
}

/// The host without brackets, and the port.
fn host_and_port(host: &str) -> (&str, &str) {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|sign| sign.is_ascii_digit()) && !port.contains(']') => (name, port),
        _ => (host, ""),
    };
    (name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name), port)
}

fn query<'v>(arguments: &[Value<'v>], meter: &mut Meter) -> Result<'v> {
    let url = only(arguments)?;
    meter.memory(url.query.len() * 4)?;
    let mut found: BTreeMap<String, Vec<Value<'v>>> = BTreeMap::new();
    for pair in url.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(name), Some(value)) = (unescape(name, true), unescape(value, true)) {
            meter.items(2)?;
            found.entry(name).or_default().push(Value::string(value));
        }
    }
    let entries = found.into_iter().map(|(name, values)| (Key::String(Text::Shared(name.into())), Value::list(values)));
    Ok(Value::Map(Map::Owned(Arc::new(entries.collect()))))
}

/// Decodes percent-encoding: `%41` becomes `A`; `None` if it is invalid.
fn unescape(text: &str, is_query: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(sign) = rest.next() {
        match sign {
            b'%' => {
                let digit = |sign: Option<u8>| char::from(sign?).to_digit(16);
                let byte = digit(rest.next())? * 16 + digit(rest.next())?;
                bytes.push(u8::try_from(byte).ok()?);
            }
            b'+' if is_query => bytes.push(b' '),
            other => bytes.push(other),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Parses a URL with a scheme, or an absolute path.
pub(super) fn parse(text: &str) -> std::result::Result<Url, String> {
    let refuse = |why: &str| Err(format!("parse {}: {why}", go_quote(text)));
    if text.is_empty() {
        return refuse("empty url");
    }
    if text.bytes().any(|sign| sign < 0x20 || sign == 0x7f) {
        return refuse("net/url: invalid control character in URL");
    }
    let end = text.find(|sign: char| !(sign.is_ascii_alphanumeric() || "+-.".contains(sign))).unwrap_or(text.len());
    let (scheme, rest) = match text[end..].strip_prefix(':') {
        Some(_) if end == 0 => return refuse("missing protocol scheme"),
        Some(rest) if text.starts_with(|sign: char| sign.is_ascii_alphabetic()) => (&text[..end], rest),
        _ => ("", text),
    };
    let (rest, fragment_free) = (rest, rest.split('#').next().unwrap_or(""));
    let request = if scheme.is_empty() { rest } else { fragment_free };
    let (path, query) = request.split_once('?').unwrap_or((request, ""));
    if !path.starts_with('/') {
        if scheme.is_empty() {
            return refuse("invalid URI for request");
        }
        return Ok(url(text, scheme, "", "", query));
    }
    let (host, path) = match path.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        Some(authority) => {
            let end = authority.find('/').unwrap_or(authority.len());
            (&authority[..end], &authority[end..])
        }
        None => ("", path),
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    if let Some(bad) = host.chars().find(|sign| " \"<>\\^`{|}".contains(*sign)) {
        return refuse(&format!("invalid character {} in host name", go_quote(&bad.to_string())));
    }
    if let Some(inner) = host.strip_prefix('[')
        && !inner.contains(']')
    {
        return refuse("missing ']' in host");
    }
    let behind = host.rfind(']').map_or(host, |at| &host[at..]);
    if let Some((_, port)) = behind.rsplit_once(':')
        && !port.bytes().all(|sign| sign.is_ascii_digit())
    {
        return refuse(&format!("invalid port {} after host", go_quote(&format!(":{port}"))));
    }
    if unescape(path, false).is_none() {
        let at = path.find('%').unwrap_or(0);
        let shown: String = path[at..].chars().take(3).collect();
        return refuse(&format!("invalid URL escape {}", go_quote(&shown)));
    }
    Ok(url(text, scheme, host, &percent::path(path).to_string(), query))
}

fn url(text: &str, scheme: &str, host: &str, path: &str, query: &str) -> Url {
    let owned = str::to_owned;
    Url { text: owned(text), scheme: scheme.to_lowercase(), host: owned(host), path: owned(path), query: owned(query) }
}
