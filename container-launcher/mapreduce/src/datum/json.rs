//! Any serde type as a value.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{EncodeAs, Value};
use crate::error::{Context as _, Result};

/// A `T` as JSON, emitted as `Json(value)`. Shorter and faster are the types that are made for it; this
/// takes any. What has no JSON, such as a map whose keys are no text, fails the task that emits it. Floats that are not
/// finite become `null`, as serde has it.
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
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        serde_json::to_writer(out, &self.0)
            .context(|| format!("{} cannot be written as JSON", std::any::type_name::<T>()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{EncodeAs as _, Json, Value as _};

    #[test]
    fn what_is_no_json_is_refused_by_its_type_and_cause() {
        let mut out = Vec::new();
        let written = Json(BTreeMap::from([((1_u32, 2_u32), 3_u32)])).append(&mut out);
        let said = written.unwrap_err().to_string();
        assert!(said.contains("BTreeMap<(u32, u32), u32>"), "{said}");
        assert!(
            said.ends_with("cannot be written as JSON: key must be a string"),
            "{said}"
        );
        let mut out = Vec::new();
        Json(vec![1_u32, 2]).append(&mut out).unwrap();
        assert_eq!(Json::<Vec<u32>>::decode(&out).unwrap(), [1, 2]);
    }
}
