use axum::body::Body;
use coracle_meta::{Status, StatusDetails, reason};
use coracle_registry::{Patch, PatchKind, Refusals};
use coracle_schema::decode::{Format, parse};
use http::Response;

use super::call::VerbCall;
use super::update;
use crate::front::options::{WriteKind, write_options};

/// Patches or applies.
pub(super) async fn serve(mut call: VerbCall) -> Result<Response<Body>, Status> {
    let kind = patch_kind(&call)?;
    let is_apply = matches!(kind, PatchKind::Apply { .. });
    let body = call.read_body().await?;
    let format = if is_apply { Format::Yaml } else { Format::Json };
    call.request.audit.request(|| parse(&body, format).map(|(patch, _)| patch).unwrap_or_default());
    let options = write_options(if is_apply { WriteKind::Apply } else { WriteKind::Patch }, &call.query)?;
    call.set_write_options(&options);
    let kind = if is_apply { PatchKind::Apply { force: options.force.unwrap_or(false) } } else { kind };
    let written = call.server.registry.patch(&call.request, &Patch { kind, body }).await?;
    update::respond(&call, &written)
}

/// The type of the patch.
fn patch_kind(call: &VerbCall) -> Result<PatchKind, Status> {
    let header = call.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let media_type = header.split(';').next().unwrap_or("").trim();
    let offers = call.kind.offers();
    if let Some(kind) = offers.patches.iter().find(|kind| kind.media_type() == media_type) {
        return Ok(*kind);
    }
    let unsupported = |message: &str| Status::failure(415, reason::UNSUPPORTED_MEDIA_TYPE, message);
    Err(match offers.refusals {
        Refusals::Routes => unsupported("415: Unsupported Media Type").with_details(StatusDetails::default()),
        Refusals::Handler => {
            let names: Vec<_> = offers.patches.iter().map(|kind| kind.media_type()).collect();
            let what = "the body of the request was in an unknown format - accepted media types include";
            unsupported(&format!("{what}: {}", names.join(", ")))
        }
    })
}
