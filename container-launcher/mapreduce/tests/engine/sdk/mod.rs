//! What a user may write himself: keys, partitioners, formats, and what tasks do before and after their records.

mod combiners;
mod derived;
mod formats;
mod handles;
mod joins;
mod keys;
mod reducers;
