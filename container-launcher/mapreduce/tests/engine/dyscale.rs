//! The applications of DyScale: what each leaves, cut into many splits and several reduces, is what a few lines of Rust
//! make of the whole input.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::{Bed, program};

/// Bytes of a split: files have many.
const SPLIT: &str = "mapreduce.input.fileinputformat.split.maxsize=20000";

/// Makes input of a kind in two files; the text of each, with its name.
fn made(bed: &Bed, data: &str) -> Vec<(String, String)> {
    let options = ["--local", "--make", data, "--mb", "1", "--seed", "7"];
    let (code, said) = program("dyscale", &options, &["8", &bed.at("made")], &[]);
    assert_eq!(code, 0, "{said}");
    let files = (0..2).map(|file| {
        let name = format!("part-m-{file:05}");
        let text = bed.read(&format!("made/{name}"));
        assert!((125_000..140_000).contains(&text.len()), "{}", text.len());
        bed.write(&format!("in/{name}"), &text);
        (name, text)
    });
    files.collect()
}

/// All lines of the output, sorted, of an application of `in`.
fn lines(bed: &Bed, application: &str, options: &[&str]) -> Vec<String> {
    let own = [
        "--local",
        "--application",
        application,
        "-D",
        SPLIT,
        "--reduces",
        "3",
    ];
    let options = [&own, options].concat();
    let (code, said) = program("dyscale", &options, &[&bed.at("in"), &bed.at("out")], &[]);
    assert_eq!(code, 0, "{said}");
    let maps = said.lines().find(|line| line.contains("maps")).unwrap();
    let count = maps.split(" maps").next().unwrap().rsplit(' ').next();
    assert!(count.unwrap().parse::<u32>().unwrap() >= 8, "{maps}");
    let text = String::from_utf8(bed.parts("out")).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort_unstable();
    lines
}

/// How often each file has each three words.
fn sequences(files: &[(String, String)]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (name, text) in files {
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            for three in words.windows(3) {
                *counts
                    .entry(format!("{}|{name}", three.join("|")))
                    .or_insert(0) += 1;
            }
        }
    }
    counts
}

#[test]
fn sequences_of_words_are_counted_and_ranked() {
    let bed = Bed::new();
    let counts = sequences(&made(&bed, "text"));
    let expected: Vec<String> = counts
        .iter()
        .map(|(key, count)| format!("{key}\t{count}"))
        .collect();
    let found = lines(&bed, "sequencecount", &[]);
    assert_eq!(sorted(found.clone()), sorted(expected));

    // Nearly all sequences of such text come once: a few of them more often, and in both files.
    let mut ranked: BTreeMap<&str, Vec<(u64, &str)>> = BTreeMap::new();
    let mut counts = counts;
    for (at, count) in counts.values_mut().enumerate() {
        *count += at as u64 % 13;
    }
    for (place, count) in &counts {
        let (sequence, file) = place.rsplit_once('|').unwrap();
        let (sequence, _) = sequence.split_once('|').unwrap();
        ranked.entry(sequence).or_default().push((*count, file));
    }
    let input = counts.iter().map(|(place, count)| {
        let (sequence, file) = place.rsplit_once('|').unwrap();
        let (sequence, _) = sequence.split_once('|').unwrap();
        format!("{sequence}|{file}\t{count}\n")
    });
    let bed = Bed::new();
    bed.write("in/counts", input.collect::<String>());
    let found = lines(&bed, "rankedinvertedindex", &[]);
    let mut by_sequence: BTreeMap<&str, Vec<(u64, &str)>> = BTreeMap::new();
    for line in &found {
        let (sequence, rank) = line.split_once('\t').unwrap();
        let (count, file) = rank.split_once('|').unwrap();
        let count = count.parse().unwrap();
        by_sequence.entry(sequence).or_default().push((count, file));
    }
    assert!(ranked.values().any(|files| files.len() > 100));
    for (sequence, files) in &mut by_sequence {
        assert!(files.is_sorted_by(|a, b| a.0 >= b.0), "{sequence}");
        files.sort_unstable();
        ranked.get_mut(sequence).unwrap().sort_unstable();
    }
    assert_eq!(by_sequence, ranked);
}

#[test]
fn the_words_that_a_host_has_often_come_first() {
    let bed = Bed::new();
    let mut expected = BTreeMap::new();
    for (name, text) in made(&bed, "text") {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for word in text.split_whitespace() {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
        let mut often: Vec<(String, u64)> = counts
            .into_iter()
            .filter(|(_, count)| *count >= 10)
            .collect();
        often.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        assert!(often.len() > 20, "{}", often.len());
        let often = often.iter().map(|(word, count)| format!("{word}:{count}"));
        expected.insert(name, often.collect::<Vec<String>>());
    }
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines(&bed, "termvector", &[]) {
        let (host, term) = line.split_once('\t').unwrap();
        found
            .entry(host.to_owned())
            .or_default()
            .push(term.to_owned());
    }
    assert_eq!(found, expected);
}

#[test]
fn lists_that_differ_in_the_last_item_are_joined() {
    let bed = Bed::new();
    let files = made(&bed, "lists");
    // The same list in another file is no other list.
    bed.write("in/again", &files[0].1);
    let mut lasts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in files.iter().flat_map(|(_, text)| text.lines()) {
        let (items, last) = line.rsplit_once(',').unwrap();
        lasts.entry(items).or_default().insert(last);
    }
    let mut expected = Vec::new();
    for (items, lasts) in lasts {
        for one in &lasts {
            let others = lasts.iter().filter(|other| *other > one);
            expected.extend(others.map(|other| format!("{items}\t{one},{other}")));
        }
    }
    assert!(expected.len() > 10, "{}", expected.len());
    assert_eq!(sorted(lines(&bed, "selfjoin", &[])), sorted(expected));
}

#[test]
fn a_vertex_has_those_before_and_behind_it_once() {
    let bed = Bed::new();
    let files = made(&bed, "edges");
    bed.write("in/more", "a,b\nb,a\na,b\na,a\nonly to,z\n");
    let mut expected: BTreeMap<String, [BTreeSet<String>; 2]> = BTreeMap::new();
    let more = bed.read("in/more");
    for line in files
        .iter()
        .flat_map(|(_, text)| text.lines())
        .chain(more.lines())
    {
        let (from, to) = line.split_once(',').unwrap();
        expected.entry(to.to_owned()).or_default()[0].insert(from.to_owned());
        expected.entry(from.to_owned()).or_default()[1].insert(to.to_owned());
    }
    let joined = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(",");
    let expected = expected.iter().map(|(vertex, [from, to])| {
        format!("{vertex}\tfrom{{{}}}:to{{{}}}", joined(from), joined(to))
    });
    let found = sorted(lines(&bed, "adjacencylist", &[]));
    assert_eq!(found, sorted(expected.collect()));
    assert!(found.contains(&"only to\tfrom{}:to{z}".to_owned()));
    assert!(found.contains(&"z\tfrom{only to}:to{}".to_owned()));
    assert!(found.contains(&"a\tfrom{a,b}:to{a,b}".to_owned()));
}

/// Movies and the users' ratings of each.
fn movies(files: &[(String, String)]) -> BTreeMap<u64, BTreeMap<u64, u64>> {
    let lines = files.iter().flat_map(|(_, text)| text.lines());
    let movies = lines.map(|line| {
        let (movie, ratings) = line.split_once(':').unwrap();
        let ratings = ratings.split(',').map(|rating| {
            let (user, rating) = rating.split_once('_').unwrap();
            (user.parse().unwrap(), rating.parse().unwrap())
        });
        (movie.parse().unwrap(), ratings.collect())
    });
    movies.collect()
}

#[test]
fn movies_and_ratings_are_counted() {
    let bed = Bed::new();
    let movies = movies(&made(&bed, "movies"));
    let mut ratings = BTreeMap::new();
    let mut averages = BTreeMap::new();
    for of in movies.values() {
        for rating in of.values() {
            *ratings.entry(*rating).or_insert(0) += 1;
        }
        let average = of.values().sum::<u64>() as f64 / of.len() as f64;
        let bin = (1..=8)
            .rev()
            .find(|bin| average >= 0.5 + f64::from(*bin) / 2.0);
        *averages.entry(bin.unwrap()).or_insert(0) += 1;
    }
    let expected = ratings
        .iter()
        .map(|(rating, count)| format!("{rating}\t{count}"));
    assert_eq!(ratings.len(), 5);
    let expected = expected.collect();
    assert_eq!(sorted(lines(&bed, "histratings", &[])), sorted(expected));
    std::fs::remove_dir_all(bed.path("out")).unwrap();
    // One without ratings is in no bin, and one with fives alone in the last.
    bed.write("in/more", "1:\n2:7_5,8_5\n");
    *averages.entry(8).or_insert(0) += 1;
    let expected = averages.iter().map(|(bin, count)| {
        let from = 0.5 + f64::from(*bin) / 2.0;
        format!("{from}-{}\t{count}", from + 0.5)
    });
    let expected: Vec<String> = expected.collect();
    assert!(expected.len() > 5, "{expected:?}");
    assert_eq!(sorted(lines(&bed, "histmovies", &[])), sorted(expected));
}

#[test]
fn a_movie_is_in_the_cluster_whose_centroid_is_most_like_it() {
    let bed = Bed::new();
    let files = made(&bed, "movies");
    let movies = movies(&files);
    let centroids: Vec<&str> = files[1].1.lines().take(5).collect();
    bed.write("centroids", centroids.join("\n"));
    let centroids: Vec<&BTreeMap<u64, u64>> = centroids
        .iter()
        .map(|line| &movies[&line.split(':').next().unwrap().parse().unwrap()])
        .collect();
    let length =
        |of: &BTreeMap<u64, u64>| (of.values().map(|it| it * it).sum::<u64>() as f64).sqrt();
    let mut expected = Vec::new();
    for (number, movie) in &movies {
        let cosines = centroids.iter().map(|centroid| {
            let both = movie
                .iter()
                .filter_map(|(user, rating)| Some(rating * centroid.get(user)?));
            both.sum::<u64>() as f64 / length(centroid) / length(movie)
        });
        let mut best = (0, f64::NEG_INFINITY);
        for (cluster, cosine) in cosines.enumerate() {
            if cosine > best.1 + 1e-12 {
                best = (cluster, cosine);
            }
        }
        expected.push(format!("{}\t{number}", best.0));
    }
    let options = ["--centroids", &bed.at("centroids")];
    let found = sorted(lines(&bed, "classification", &options));
    assert_eq!(found, sorted(expected));
    let clusters: BTreeSet<&str> = found
        .iter()
        .filter_map(|line| line.split('\t').next())
        .collect();
    assert_eq!(clusters.len(), 5);
    std::fs::remove_dir_all(bed.path("out")).unwrap();
    let made = lines(&bed, "classification", &["--clusters", "3"]);
    assert_eq!(made.len(), found.len());
}

#[test]
fn what_is_no_application_or_no_such_line_is_refused() {
    let bed = Bed::new();
    bed.write("in", "no line of these\n");
    let refused = |options: &[&str], words: &str| {
        let options = [&["--local"], options].concat();
        let (code, said) = program("dyscale", &options, &[&bed.at("in"), &bed.at("out")], &[]);
        assert!(code != 0 && said.contains(words), "{said}");
    };
    refused(&[], "give one of rankedinvertedindex, termvector, ");
    refused(&["--application", "nothing"], "\"nothing\" is none");
    refused(
        &["--make", "nothing"],
        "known are text, lists, edges, movies and points",
    );
    refused(
        &["--make", "text"],
        "is no number of files, give one from 1",
    );
    refused(
        &["--make", "text", "--application", "selfjoin"],
        "one of them, not both",
    );
    refused(&["--application", "selfjoin"], "two items at least");
    refused(
        &["--application", "adjacencylist"],
        "two vertices with a comma",
    );
    refused(
        &["--application", "rankedinvertedindex"],
        "SEQUENCE|FILE, a tab",
    );
    refused(&["--application", "histmovies"], "NUMBER:USER_RATING");
    let none = ["--application", "classification", "--clusters", "0"];
    refused(&none, "one centroid at least is needed");
}
