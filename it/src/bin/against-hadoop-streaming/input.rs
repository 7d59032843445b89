//! What recipes read, and what they bring along.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

/// Lines of each of two texts.
const LINES: u64 = 3000;
/// Different words.
const WORDS: u64 = 700;

/// What a documentation of 2010 has its readers write.
const SCRIPTS: [(&str, &str); 11] = [
    ("typed.py", include_str!("scripts/typed.py")),
    ("raw.py", include_str!("scripts/raw.py")),
    (
        "mapper.py",
        "#!/usr/bin/env python3\nimport sys\nfor line in sys.stdin:\n    for word in line.split():\n        \
         print('%s\\t%d' % (word, 1))\n",
    ),
    (
        "reducer.py",
        "#!/usr/bin/env python3\nimport sys\nlast, total = None, 0\nfor line in sys.stdin:\n    word, count = \
         line.rstrip('\\n').split('\\t', 1)\n    if word != last:\n        if last is not None:\n            \
         print('%s\\t%d' % (last, total))\n        last, total = word, 0\n    total += int(count)\nif last is not None:\n    \
         print('%s\\t%d' % (last, total))\n",
    ),
    (
        "counting.py",
        "#!/usr/bin/env python3\nimport sys\nfor line in sys.stdin:\n    sys.stderr.write('reporter:counter:words,lines,1\\n')\n    \
         sys.stderr.write('reporter:status:reading\\n')\n    sys.stdout.write(line)\n",
    ),
    (
        "myAggregatorForKeyCount.py",
        "#!/usr/bin/env python3\nimport sys\nfor line in sys.stdin:\n    fields = line.rstrip('\\n').split(' ')\n    \
         print('LongValueSum:' + fields[0] + '\\t1')\n    print('UniqValueCount:all\\t' + fields[0])\n    \
         print('LongValueMax:longest\\t%d' % len(line))\n    print('LongValueMin:shortest\\t%d' % len(line))\n    \
         print('StringValueMax:last\\t' + fields[0])\n    print('StringValueMin:first\\t' + fields[0])\n    \
         print('ValueHistogram:words\\t' + fields[0])\n    print('DoubleValueSum:halves\\t0.5')\n",
    ),
    (
        "map.pl",
        "#!/usr/bin/perl\nwhile (<STDIN>) { chomp; foreach my $word (split) { print \"$word\\t1\\n\"; } }\n",
    ),
    (
        "reduce.pl",
        "#!/usr/bin/perl\nmy %count;\nwhile (<STDIN>) { chomp; my ($word, $n) = split /\\t/; $count{$word} += $n; }\n\
         foreach my $word (sort keys %count) { print \"$word\\t$count{$word}\\n\"; }\n",
    ),
    (
        "count.awk",
        "BEGIN { FS = \"\\t\" } { if ($1 != last && NR > 1) { print last \"\\t\" n; n = 0 } last = $1; n += $2 } \
         END { if (NR > 0) print last \"\\t\" n }\n",
    ),
    (
        "known.py",
        "#!/usr/bin/env python3\nimport sys\nknown = set(open('dict.txt').read().split())\nfor line in sys.stdin:\n    \
         for word in line.split():\n        if word in known:\n            print(word)\n",
    ),
    ("env.sh", "#!/bin/sh\ncat >/dev/null\nenv | sort\n"),
];

/// Puts everything into `folder`.
pub(crate) fn write(folder: &Path) -> Result<()> {
    for (name, text) in SCRIPTS {
        fs::write(folder.join(name), text)?;
    }
    fs::create_dir(folder.join("text"))?;
    for name in ["a.txt", "b.txt"] {
        fs::write(
            folder.join("text").join(name),
            text(name.len() as u64 + u64::from(name == "b.txt")),
        )?;
    }
    let dotted = |number: u64| {
        let n = number * 7919;
        format!("{}.{}.{}.{}\n", 11 + n % 3, n % 5, n % 7, number % 11)
    };
    fs::write(
        folder.join("dotted.txt"),
        (0..500).map(dotted).collect::<String>(),
    )?;
    let pair = |number: u64| format!("k{} {}\tv{number}\n", number * 31 % 40, number * 17 % 1000);
    fs::write(
        folder.join("pairs.txt"),
        (0..800).map(pair).collect::<String>(),
    )?;
    fs::write(
        folder.join("odd.txt"),
        "one\r\n\n\ttwo\nthree\t\n\nlast without an end",
    )?;
    fs::write(folder.join("dict.txt"), "w1\nw7\nw300\n")?;
    fs::write(folder.join("names.txt"), "cache/one.txt\ncache/two.txt\n")?;
    let page = |number: u64| {
        let words = "w ".repeat(usize::try_from(number * 31 % 90).unwrap_or_default());
        format!(
            "<!-- {number} --><page>\n\t<id>{number}</id><title>p{}</title>\n{words}<x>&lt;</x></page>\n",
            number * 17 % 13
        )
    };
    let pages: String = (0..200).map(page).collect();
    // The last one has no end.
    let pages = format!("<dump>\n{pages}</dump><page><id>never</id>\n");
    fs::write(folder.join("pages.xml"), pages)?;
    fs::create_dir(folder.join("cachedir"))?;
    fs::write(
        folder.join("cachedir/one.txt"),
        "This is just the cache string\n",
    )?;
    fs::write(
        folder.join("cachedir/two.txt"),
        "This is just the second cache string\n",
    )?;
    let mut tar = Command::new("tar");
    tar.args([
        "-czf",
        "cachedir.tgz",
        "-C",
        "cachedir",
        "one.txt",
        "two.txt",
    ]);
    ensure!(
        tar.current_dir(folder).status()?.success(),
        "tar has failed"
    );
    let mut gzip = Command::new("gzip");
    gzip.arg("-c")
        .stdin(Stdio::piped())
        .stdout(fs::File::create(folder.join("text.gz"))?);
    let mut child = gzip.spawn()?;
    if let Some(stdin) = &mut child.stdin {
        stdin.write_all(text(5).as_bytes())?;
    }
    drop(child.stdin.take());
    ensure!(child.wait()?.success(), "gzip has failed");
    Ok(())
}

/// Lines of words, some of which are more frequent.
fn text(seed: u64) -> String {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % WORDS
    };
    let line = |_| {
        let words: Vec<String> = (0..8)
            .map(|_| format!("w{}", next() * next() / WORDS))
            .collect();
        words.join(" ") + "\n"
    };
    (0..LINES).map(line).collect()
}
