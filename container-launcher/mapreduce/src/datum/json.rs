//! Any serde type as a value.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{EncodeAs, Value};
use crate::error::Result;

/// A `T` as JSON, emitted as `Json(value)`. Shorter and faster are the types that are made for it; this
/// takes any.
#[derive(Clone, Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize + DeserializeOwned + 'static> Value for Json<T> {
    type View<'a> = T;
    type Owned = Self;
    const WRITABLE: Option<&'static str> = None;

    fn decode(bytes: &[u8]) -> Result<T> {
        Ok(serde_json::from_slice(bytes)?)
    }

    fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(bytes);
        Ok(())
    }
}

impl<T: Serialize> EncodeAs<Self> for Json<T> {
    fn append(&self, out: &mut Vec<u8>) {
        // What has no JSON, such as a map whose keys are no text, is found by whoever reads it.
        let before = out.len();
        if serde_json::to_writer(&mut *out, &self.0).is_err() {
            out.truncate(before);
        }
    }
}
