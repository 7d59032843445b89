//! What hdfs-native is asked to do.
//!
//! Each call is a future without a type of its own. With one, all that hdfs-native does until the answer is there would be
//! compiled once more into every crate that waits for it: together 0.3 MB of the product's file. For the same reason
//! none of these functions may be inlined.

use std::pin::Pin;

use bytes::Bytes;
use hdfs_native::client::{FileStatus, ListStatusIterator};
use hdfs_native::file::{FileReader, FileWriter};
use hdfs_native::{Client, Result, WriteOptions};

/// An answer, as soon as it is there. It has no deadline.
pub(super) type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

#[inline(never)]
pub(super) fn get_file_info<'a>(client: &'a Client, path: &'a str) -> Call<'a, FileStatus> {
    Box::pin(client.get_file_info(path))
}

/// A folder, and the first that is in it; `None`: it is empty.
#[inline(never)]
pub(super) fn list<'a>(
    client: &'a Client,
    path: &'a str,
) -> Call<'a, (ListStatusIterator, Option<FileStatus>)> {
    Box::pin(async {
        let listing = client.list_status_iter(path, false);
        let first = next(&listing).await?;
        Ok((listing, first))
    })
}

/// The next of a folder; `None`: that was all.
#[inline(never)]
pub(super) fn next(listing: &ListStatusIterator) -> Call<'_, Option<FileStatus>> {
    Box::pin(async { listing.next().await.transpose() })
}

#[inline(never)]
pub(super) fn mkdirs<'a>(
    client: &'a Client,
    path: &'a str,
    mode: u32,
    with_parents: bool,
) -> Call<'a, ()> {
    Box::pin(client.mkdirs(path, mode, with_parents))
}

#[inline(never)]
pub(super) fn create<'a>(
    client: &'a Client,
    path: &'a str,
    how: WriteOptions,
) -> Call<'a, FileWriter> {
    Box::pin(client.create(path, how))
}

#[inline(never)]
pub(super) fn append<'a>(client: &'a Client, path: &'a str) -> Call<'a, FileWriter> {
    Box::pin(client.append(path))
}

/// Opens a file to be read.
#[inline(never)]
pub(super) fn open<'a>(client: &'a Client, path: &'a str) -> Call<'a, FileReader> {
    Box::pin(client.read(path))
}

/// To a name that is free.
#[inline(never)]
pub(super) fn rename<'a>(client: &'a Client, from: &'a str, to: &'a str) -> Call<'a, ()> {
    Box::pin(client.rename(from, to, false))
}

/// Whether there was something.
#[inline(never)]
pub(super) fn delete<'a>(client: &'a Client, path: &'a str, recursive: bool) -> Call<'a, bool> {
    Box::pin(client.delete(path, recursive))
}

/// Milliseconds since 1970, modified and used.
#[inline(never)]
pub(super) fn set_times<'a>(
    client: &'a Client,
    path: &'a str,
    modified_ms: u64,
    used_ms: u64,
) -> Call<'a, ()> {
    Box::pin(client.set_times(path, modified_ms, used_ms))
}

/// At the end of a file. How many bytes it took.
#[inline(never)]
pub(super) fn write(writer: &mut FileWriter, piece: Bytes) -> Call<'_, usize> {
    Box::pin(writer.write_bytes(piece))
}

/// Ends a file: its last block is acknowledged and reported, and the NameNode holds it to be complete.
#[inline(never)]
pub(super) fn close(writer: &mut FileWriter) -> Call<'_, ()> {
    Box::pin(writer.close())
}
