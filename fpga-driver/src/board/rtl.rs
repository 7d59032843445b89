//! Cards whose functions are the Verilog of `rtl/`, simulated cycle by cycle by Verilator.

use super::BoardError;
use super::card::Engine;

/// Why this build has no simulated cores, and how to get them.
pub const MISSING: &str = "this build has no simulated cores: install verilator and g++ (apt install verilator g++) and build again";

/// The simulated cores.
///
/// # Errors
///
/// This build has none.
pub fn engine(board: &str) -> Result<Box<dyn Engine>, BoardError> {
    #[cfg(rtl)]
    {
        Ok(Box::new(cores::Rtl::new(board)?))
    }
    #[cfg(not(rtl))]
    {
        Err(BoardError::NotBuilt {
            board: board.to_owned(),
            reason: MISSING.to_owned(),
        })
    }
}

#[cfg(rtl)]
mod cores {
    use super::BoardError;
    use crate::board::card::{CardTable, Engine, EngineAnswer};
    use crate::board::{error, model};
    use crate::function::{Function, PacketShape};
    use std::ffi::c_void;
    use std::ptr::NonNull;
    use std::sync::Arc;

    /// Centroids, elements, classes and rows of a table for which the cores have room (`rtl/*.v`).
    const MOST_CENTROIDS: usize = 32;
    const MOST_ELEMENTS: usize = 256;
    const MOST_CLASSES: usize = 16;
    const MOST_ROWS: usize = 16384;

    #[expect(unsafe_code, reason = "the simulated cores are C++ (rtl/shim.cpp)")]
    // SAFETY: declared as rtl/shim.cpp defines them.
    unsafe extern "C" {
        fn cores_new() -> *mut c_void;
        fn cores_delete(cores: *mut c_void);
        fn cores_kmeans_map(
            cores: *mut c_void,
            k: u32,
            d: u32,
            centroids: *const u8,
            vectors: *const u8,
            stride: u64,
            n: u64,
            clusters: *mut u32,
            sums: *mut u64,
        ) -> u64;
        fn cores_kmeans_reduce(
            cores: *mut c_void,
            k: u32,
            d: u32,
            pairs: *const u8,
            key: u32,
            stride: u64,
            n: u64,
            sums: *mut u64,
        ) -> u64;
        fn cores_bayes_load(cores: *mut c_void, classes: u32, rows: u32, logs: *const u8) -> u64;
        fn cores_bayes_map(
            cores: *mut c_void,
            classes: u32,
            terms: *const u8,
            n: u64,
            cycles: *mut u64,
        ) -> u32;
    }

    /// One set of simulated cores.
    #[derive(Debug)]
    pub struct Rtl {
        cores: NonNull<c_void>,
        /// The table in the core's memory.
        loaded: Option<Arc<Vec<u8>>>,
    }

    #[expect(unsafe_code, reason = "the cores hold no thread's own state")]
    // SAFETY: every call goes through `&mut self`, and the C++ objects know no threads.
    unsafe impl Send for Rtl {}

    impl Rtl {
        #[expect(unsafe_code, reason = "the simulated cores are C++")]
        pub fn new(board: &str) -> Result<Self, BoardError> {
            // SAFETY: it takes nothing, and gives an object that is this value's own.
            let cores = NonNull::new(unsafe { cores_new() });
            let cores = cores.ok_or_else(|| BoardError::NotBuilt {
                board: board.to_owned(),
                reason: "the simulated cores could not be made".to_owned(),
            })?;
            Ok(Self {
                cores,
                loaded: None,
            })
        }

        #[expect(unsafe_code, reason = "the simulated cores are C++")]
        fn kmeans_map(&mut self, shape: &PacketShape, data: &[u8]) -> Result<EngineAnswer, u32> {
            let (k, d) = (shape.k, shape.dimension);
            if k > MOST_CENTROIDS || d > MOST_ELEMENTS {
                return Err(error::TOO_LARGE);
            }
            let stride = shape.key + d * 4;
            let centroids = part(data, shape.centroids_at, k * d * 4)?;
            let pairs = part(data, shape.pairs_at, shape.pairs * stride)?;
            let mut clusters = vec![0u32; if shape.combine { 0 } else { shape.pairs }];
            let mut sums = vec![0u64; if shape.combine { k * (d + 1) } else { 0 }];
            // SAFETY: k centroids of d words and `pairs` vectors of d words, `stride` apart, lie in the
            // two slices; one of the two outputs has the room that the shim writes, the other is null.
            let cycles = unsafe {
                cores_kmeans_map(
                    self.cores.as_ptr(),
                    narrow(k)?,
                    narrow(d)?,
                    centroids.as_ptr(),
                    // A vector comes after its key.
                    pairs.as_ptr().wrapping_add(shape.key),
                    stride as u64,
                    shape.pairs as u64,
                    if shape.combine {
                        std::ptr::null_mut()
                    } else {
                        clusters.as_mut_ptr()
                    },
                    if shape.combine {
                        sums.as_mut_ptr()
                    } else {
                        std::ptr::null_mut()
                    },
                )
            };
            let mut result = Vec::with_capacity(shape.result);
            for (pair, cluster) in pairs.chunks_exact(stride).zip(&clusters) {
                result.extend_from_slice(&pair[..shape.key]);
                result.extend(cluster.to_le_bytes());
            }
            result.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
            Ok(EngineAnswer { result, cycles })
        }

        #[expect(unsafe_code, reason = "the simulated cores are C++")]
        fn kmeans_reduce(&mut self, shape: &PacketShape, data: &[u8]) -> Result<EngineAnswer, u32> {
            let (k, d) = (shape.k, shape.dimension);
            if k > MOST_CENTROIDS || d > MOST_ELEMENTS {
                return Err(error::TOO_LARGE);
            }
            let stride = shape.key + (d + 1) * 8;
            let pairs = part(data, shape.pairs_at, shape.pairs * stride)?;
            let mut sums = vec![0u64; k * (d + 1)];
            // SAFETY: `pairs` rows of `stride` bytes lie in the slice, and k × (d + 1) words are written.
            let cycles = unsafe {
                cores_kmeans_reduce(
                    self.cores.as_ptr(),
                    narrow(k)?,
                    narrow(d)?,
                    pairs.as_ptr(),
                    narrow(shape.key)?,
                    stride as u64,
                    shape.pairs as u64,
                    sums.as_mut_ptr(),
                )
            };
            if cycles == 0 {
                return Err(error::DATA);
            }
            let result = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
            Ok(EngineAnswer { result, cycles })
        }

        #[expect(unsafe_code, reason = "the simulated cores are C++")]
        fn bayes_map(
            &mut self,
            shape: &PacketShape,
            data: &[u8],
            table: &CardTable,
        ) -> Result<EngineAnswer, u32> {
            let classes = table.shape.k;
            let rows = table.shape.dimension + 1;
            if rows != shape.dimension + 1 {
                return Err(error::NO_MODEL);
            }
            if classes > MOST_CLASSES || rows > MOST_ROWS {
                return Err(error::TOO_LARGE);
            }
            let mut cycles = 0;
            let there = self
                .loaded
                .as_ref()
                .is_some_and(|loaded| Arc::ptr_eq(loaded, &table.data));
            if !there {
                let logs = part(&table.data, table.shape.centroids_at, rows * classes * 4)?;
                // SAFETY: the slice has rows × classes words, for which the core has room.
                unsafe {
                    cores_bayes_load(
                        self.cores.as_ptr(),
                        narrow(classes)?,
                        narrow(rows)?,
                        logs.as_ptr(),
                    )
                };
                self.loaded = Some(Arc::clone(&table.data));
            }
            let mut result = Vec::with_capacity(shape.result);
            for document in model::documents(shape, data) {
                let (key, list) = document?;
                let known = model::words(list)
                    .all(|term| usize::try_from(term).is_ok_and(|term| term < shape.dimension));
                if !known {
                    return Err(error::DATA);
                }
                // SAFETY: the slice has so many words, each a row of the table.
                let class = unsafe {
                    cores_bayes_map(
                        self.cores.as_ptr(),
                        narrow(classes)?,
                        list.as_ptr(),
                        (list.len() / 4) as u64,
                        &raw mut cycles,
                    )
                };
                result.extend_from_slice(key);
                result.extend(class.to_le_bytes());
            }
            Ok(EngineAnswer { result, cycles })
        }
    }

    impl Engine for Rtl {
        fn functions(&self) -> u32 {
            Function::ALL.iter().fold(0, |all, it| all | it.bit())
        }

        fn run(
            &mut self,
            shape: &PacketShape,
            data: &[u8],
            table: Option<&CardTable>,
        ) -> Result<EngineAnswer, u32> {
            match shape.function {
                Function::KmeansMap => self.kmeans_map(shape, data),
                Function::KmeansReduce => self.kmeans_reduce(shape, data),
                Function::BayesMap => self.bayes_map(shape, data, table.ok_or(error::NO_MODEL)?),
                // The data mover's own, without a core.
                Function::Echo => Ok(EngineAnswer {
                    result: data.to_vec(),
                    cycles: 0,
                }),
                Function::Sink => Ok(model::sink(data)),
            }
        }
    }

    impl Drop for Rtl {
        #[expect(unsafe_code, reason = "the simulated cores are C++")]
        fn drop(&mut self) {
            // SAFETY: the object that `new` made, once.
            unsafe { cores_delete(self.cores.as_ptr()) };
        }
    }

    fn part(data: &[u8], at: usize, length: usize) -> Result<&[u8], u32> {
        data.get(at..)
            .and_then(|rest| rest.get(..length))
            .ok_or(error::DATA)
    }

    fn narrow(value: usize) -> Result<u32, u32> {
        u32::try_from(value).map_err(|_beyond| error::TOO_LARGE)
    }
}
