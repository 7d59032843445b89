//! K-means on the processor: what the accelerator must agree with, bit for bit.

use super::packets::Sums;
use crate::fixed::{Seeded, q22};

/// Centroids that are compared in one pass over a vector.
const AT_ONCE: usize = 4;

/// The nearest centroid of a vector; `centroids` is k × `vector.len()`.
pub fn nearest(vector: &[i32], centroids: &[i32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "it is compiled for AVX2")]
        // SAFETY: this processor has AVX2.
        return unsafe { nearest_by_avx2(vector, centroids) };
    }
    nearest_anywhere(vector, centroids)
}

/// The same, compiled for four products of 64 bits at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn nearest_by_avx2(vector: &[i32], centroids: &[i32]) -> usize {
    nearest_anywhere(vector, centroids)
}

#[inline(always)]
fn nearest_anywhere(vector: &[i32], centroids: &[i32]) -> usize {
    let dimension = vector.len().max(1);
    let (mut best, mut largest, mut index) = (0, i64::MIN, 0);
    let mut compare = |dot: i64| {
        if dot > largest {
            (best, largest) = (index, dot);
        }
        index += 1;
    };
    let mut blocks = centroids.chunks_exact(AT_ONCE * dimension);
    for block in &mut blocks {
        let (first, second) = block.split_at(2 * dimension);
        let (a, b) = first.split_at(dimension);
        let (c, d) = second.split_at(dimension);
        let mut dots = [0i64; AT_ONCE];
        for ((((&x, &a), &b), &c), &d) in vector.iter().zip(a).zip(b).zip(c).zip(d) {
            for (dot, y) in dots.iter_mut().zip([a, b, c, d]) {
                *dot = dot.wrapping_add(i64::from(x) * i64::from(y));
            }
        }
        dots.into_iter().for_each(&mut compare);
    }
    for centroid in blocks.remainder().chunks_exact(dimension) {
        let products = vector.iter().zip(centroid);
        compare(products.fold(0i64, |dot, (&x, &y)| {
            dot.wrapping_add(i64::from(x) * i64::from(y))
        }));
    }
    best
}

/// Adds each vector to the sums of its nearest centroid; `vectors` is n × dimension.
pub fn assign(vectors: &[i32], centroids: &[i32], dimension: usize) -> Sums {
    let mut sums = Sums::zero(centroids.len() / dimension.max(1), dimension);
    for vector in vectors.chunks_exact(dimension.max(1)) {
        sums.add(nearest(vector, centroids), vector);
    }
    sums
}

/// The centroids of the next round: the directions of the sums.  A centroid without vectors, or whose
/// vectors cancel out, stays where it is.
pub fn next_centroids(sums: &Sums, before: &[i32]) -> Vec<i32> {
    let mut after = before.to_vec();
    let rows = after.chunks_exact_mut(sums.dimension().max(1));
    for (centroid, (_, sum)) in rows.zip(sums.rows()) {
        let squares: f64 = sum.iter().map(|&value| float(value) * float(value)).sum();
        if squares > 0.0 {
            let scale = squares.sqrt().recip();
            for (element, &value) in centroid.iter_mut().zip(sum) {
                *element = q22(float(value) * scale);
            }
        }
    }
    after
}

/// The nearest float; sums of fewer than 2^31 elements of length 1 are exact.
#[expect(clippy::cast_precision_loss, reason = "every machine rounds it alike")]
fn float(value: i64) -> f64 {
    value as f64
}

/// `count` vectors of length 1 around `clusters` directions, from a seed: n × dimension, Q1.22.
pub fn generate(seed: u64, count: usize, dimension: usize, clusters: u32) -> Vec<i32> {
    let mut seeded = Seeded(seed);
    let mut direction =
        || -> Vec<f64> { (0..dimension).map(|_| seeded.share() * 2.0 - 1.0).collect() };
    let directions: Vec<Vec<f64>> = (0..clusters.max(1)).map(|_| direction()).collect();
    let mut vectors = Vec::with_capacity(count * dimension);
    let mut floats = vec![0.0; dimension];
    for _ in 0..count {
        let around = &directions[usize::try_from(seeded.below(clusters)).unwrap_or(0)];
        for (float, base) in floats.iter_mut().zip(around) {
            *float = base + (seeded.share() - 0.5) * 0.5;
        }
        let squares: f64 = floats.iter().map(|value| value * value).sum();
        let scale = squares.sqrt().max(f64::MIN_POSITIVE).recip();
        vectors.extend(floats.iter().map(|value| q22(value * scale)));
    }
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixed::from_q22;

    fn length(centroid: &[i32]) -> f64 {
        centroid
            .iter()
            .map(|&value| from_q22(value) * from_q22(value))
            .sum::<f64>()
            .sqrt()
    }

    #[test]
    fn ties_go_to_the_lowest() {
        assert_eq!(nearest(&[1, 0], &[0, 5, 3, 1, 3, 2]), 1);
        assert_eq!(nearest(&[0, 0], &[0, 5, 3, 1, 3, 2]), 0);
    }

    /// Whatever the processor has, and however many centroids are left over behind blocks.
    #[test]
    fn the_nearest_has_the_largest_product() {
        for (k, dimension) in (1..=9).flat_map(|k| [1, 3, 8, 128].map(|dimension| (k, dimension))) {
            let centroids = generate(7, k, dimension, 3);
            for vector in generate(k as u64, 50, dimension, 5).chunks_exact(dimension) {
                let dots = centroids.chunks_exact(dimension).map(|centroid| {
                    let products = vector.iter().zip(centroid);
                    products.map(|(&x, &y)| i64::from(x) * i64::from(y)).sum()
                });
                let dots: Vec<i64> = dots.collect();
                let largest = dots.iter().max().unwrap();
                let expected = dots.iter().position(|dot| dot == largest).unwrap();
                assert_eq!(nearest(vector, &centroids), expected);
                assert_eq!(nearest_anywhere(vector, &centroids), expected);
            }
        }
        let extreme = [i32::MIN, i32::MAX, -1, 1];
        assert_eq!(nearest(&extreme, &[extreme, [0; 4]].concat()), 0);
    }

    #[test]
    fn clusters_that_exist_are_found() {
        let vectors = generate(1, 600, 8, 3);
        assert!((length(&vectors[..8]) - 1.0).abs() < 1e-5);
        let mut centroids = vectors[..3 * 8].to_vec();
        for _ in 0..200 {
            centroids = next_centroids(&assign(&vectors, &centroids, 8), &centroids);
        }
        let sums = assign(&vectors, &centroids, 8);
        let counts: u64 = sums.rows().map(|(count, _)| count).sum();
        assert_eq!(counts, 600);
        assert_eq!(
            next_centroids(&sums, &centroids),
            centroids,
            "it has settled"
        );
    }
}
