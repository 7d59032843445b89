//! KMC: a step of K-means on points of four floats, with 16 centres, or with a multiple of that: what is nearest to a centre is
//! added up for the class that the centre's number leaves when it is divided by 16, so that a kernel may take any time for as
//! many words.

use std::io;
use std::sync::{Mutex, PoisonError};

use gerbil_chunks::ChunkKernel;
use gerbil_gpu::Grid;

use crate::job::{Job, far};
use crate::seeds::{bytes, float, floats};

/// Of which there are sums: centres, if these are no more.
const CLASSES: usize = 16;
const POINTS_OF_A_GROUP: u64 = 4096;
const POINT: u64 = 16;

/// Of one class.
#[derive(Clone, Copy, Debug, Default)]
struct CentreSum {
    count: u64,
    sums: [f64; 4],
}

/// The job.
#[derive(Debug)]
pub(crate) struct Kmc {
    centres: Vec<f32>,
    found: Mutex<[CentreSum; CLASSES]>,
}

impl Kmc {
    /// With so many centres, a multiple of 16.
    pub(crate) fn new(centres: u64) -> Self {
        Self {
            centres: (0..centres * 4).map(|place| float(7, place)).collect(),
            found: Mutex::default(),
        }
    }

    fn nearest(&self, point: [f32; 4]) -> usize {
        let mut best = (0, f32::INFINITY);
        for (number, centre) in self.centres.chunks(4).enumerate() {
            let offs = point.iter().zip(centre).map(|(value, of)| value - of);
            // As the kernel does, so that it rounds alike.
            let distance = offs.fold(0.0_f32, |sum, off| off.mul_add(off, sum));
            if distance < best.1 {
                best = (number, distance);
            }
        }
        best.0 % CLASSES
    }
}

// SAFETY: a group reads its points alone, of which none lies behind `bytes`, and writes its 80 words.
#[expect(unsafe_code, reason = "a kernel is C")]
unsafe impl ChunkKernel for Kmc {
    fn source(&self) -> String {
        let centres = self.centres.len() / 4;
        format!(
            "#define CENTRES {centres}\n#line 1\n{}",
            include_str!("kmc.k")
        )
    }

    fn name(&self) -> &str {
        "kmc"
    }

    fn constants(&self) -> &[f32] {
        &self.centres
    }

    fn words(&self, bytes: u64) -> usize {
        let groups = (bytes / POINT).div_ceil(POINTS_OF_A_GROUP);
        usize::try_from(groups).map_or(usize::MAX, |groups| groups.saturating_mul(CLASSES * 5))
    }

    fn grid(&self, bytes: u64) -> io::Result<Grid> {
        Grid::of((bytes / POINT).div_ceil(POINTS_OF_A_GROUP) * 64).map_err(io::Error::other)
    }

    fn emit(&self, _offset: u64, _bytes: u64, words: &[u32]) -> io::Result<()> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for group in words.chunks_exact(CLASSES * 5) {
            for (known, of_centre) in found.iter_mut().zip(group.chunks_exact(5)) {
                let (count, sums) = of_centre.split_at(1);
                known.count += count.iter().copied().map(u64::from).sum::<u64>();
                for (known, sum) in known.sums.iter_mut().zip(sums) {
                    *known += f64::from(f32::from_bits(*sum));
                }
            }
        }
        Ok(())
    }
}

impl Job for Kmc {
    fn chunk_of(&self, bytes: u64) -> u64 {
        bytes
    }

    fn input(&self, offset: u64, count: u64) -> Vec<u8> {
        bytes(1, offset / 4, count / 4)
    }

    fn check(&self, input: &mut dyn Iterator<Item = io::Result<Vec<u8>>>) -> io::Result<()> {
        let mut wanted = [CentreSum::default(); CLASSES];
        for piece in input {
            let piece = piece?;
            let values: Vec<f32> = floats(&piece).collect();
            for point in values
                .chunks_exact(4)
                .filter_map(|point| point.first_chunk())
            {
                if let Some(of) = wanted.get_mut(self.nearest(*point)) {
                    of.count += 1;
                    for (sum, value) in of.sums.iter_mut().zip(point) {
                        *sum += f64::from(*value);
                    }
                }
            }
        }
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            if found.count != wanted.count {
                let (found, wanted) = (found.count, wanted.count);
                return Err(io::Error::other(format!(
                    "centre {number} has {found} points, and should have {wanted}"
                )));
            }
            for (found, wanted) in found.sums.iter().zip(&wanted.sums) {
                far(&format!("a sum of centre {number}"), *found, *wanted)?;
            }
        }
        Ok(())
    }
}
