use axum::body::Body;
use coracle_meta::{Status, StatusDetails, reason};
use coracle_registry::{Patch, PatchKind};
use http::Response;

use super::call::Call;
use super::update;
use crate::front::options::{WriteKind, write_options};

const ALL: [PatchKind; 4] =
    [PatchKind::Json, PatchKind::Merge, PatchKind::Strategic, PatchKind::Apply { force: false }];

/// Patches or applies.
pub(super) async fn serve(mut call: Call) -> Result<Response<Body>, Status> {
    let kind = patch_kind(&call)?;
    let is_apply = matches!(kind, PatchKind::Apply { .. });
    let body = call.read_body().await?;
    let options = write_options(if is_apply { WriteKind::Apply } else { WriteKind::Patch }, &call.query)?;
    call.set_write_options(&options);
    let kind = if is_apply { PatchKind::Apply { force: options.force.unwrap_or(false) } } else { kind };
    let written = call.server.registry.patch(&call.request, &Patch { kind, body }).await?;
    update::respond(&call, &written)
}

/// In which language the patch is written. Custom resources have no merge keys, so no strategic patch either.
fn patch_kind(call: &Call) -> Result<PatchKind, Status> {
    let header = call.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let media_type = header.split(';').next().unwrap_or("").trim();
    let custom = call.kind.is_custom();
    let served = ALL.into_iter().filter(|kind| !(custom && *kind == PatchKind::Strategic));
    if let Some(kind) = served.clone().find(|kind| kind.media_type() == media_type) {
        return Ok(kind);
    }
    if custom {
        let names: Vec<_> = served.map(PatchKind::media_type).collect();
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            names.join(", ")
        );
        return Err(Status::failure(415, reason::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let status = Status::failure(415, reason::UNSUPPORTED_MEDIA_TYPE, "415: Unsupported Media Type");
    Err(status.with_details(StatusDetails::default()))
}
