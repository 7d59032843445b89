//! Which files inputs name, as Hadoop's `FileInputFormat` finds them: what both launchers are to find in one folder, which
//! stands in these rows as `@`.

use std::path::Path;

use gerbil_task::inputs::Folders;

/// The files of the folder.
const FILES: [&str; 23] = [
    "in/b",
    "in/a",
    "in/_log",
    "in/.hidden",
    "in/deep/c",
    "x1",
    "x2",
    "y1",
    "logs/_old/part-0",
    "logs/new/part-0",
    "logs/new/_part-1",
    "odd/m,n",
    "odd/b{r}ace.txt",
    "odd/ünï.txt",
    "odd/a*",
    "odd/ab",
    "maps/part-r-00001/index",
    "maps/part-r-00001/data",
    "maps/part-r-00000/.data.crc",
    "maps/part-r-00000/data",
    "maps/part-r-00000/index",
    "maps/part-r-00000/bloom",
    "maps/plain",
];

/// Inputs, and the files that they name.
const FOUND: [(&[&str], &str); 21] = [
    (&["@/x1,@/y1"], "x1 y1"),
    (&["@/{x,y}1", "@/x*"], "x1 y1 x1 x2"),
    (&["@/[x-y]1"], "x1 y1"),
    (&["@/*/a"], "in/a"),
    (&["@/*/deep/*"], "in/deep/c"),
    (&["@/{x1,nothing/*}"], "x1"),
    (&["@/logs/*/part-0"], "logs/_old/part-0 logs/new/part-0"),
    (&["@/logs/*/*"], "logs/_old/part-0 logs/new/part-0"),
    (&["@/logs/[n]*/_part-1"], "logs/new/_part-1"),
    (&[r"@/odd/m\,n"], "odd/m,n"),
    (&["@/odd/m?n"], "odd/m,n"),
    (&[r"@/odd/b\{r\}ace.txt"], "odd/b{r}ace.txt"),
    (&["@/odd/b{r}ace.txt"], "odd/b{r}ace.txt"),
    (&["@/odd/?n?.txt"], "odd/ünï.txt"),
    (&["@/odd/[ä-ü]n*"], "odd/ünï.txt"),
    (&[r"@/odd/a\*"], "odd/a*"),
    (&["@/odd/a*"], "odd/a* odd/ab"),
    (&["@/odd/a{b,}"], "odd/ab"),
    (&["@/y1", "@/x1"], "y1 x1"),
    (
        &["@/maps/part-r-00001"],
        "maps/part-r-00001/data maps/part-r-00001/index",
    ),
    (&[r"@/odd/*\**"], "odd/a*"),
];

/// Inputs, and the files that they name where a folder may be a MapFile, and other folders are read as `recursive` says.
const MAP_FILES: [(&[&str], bool, &str); 7] = [
    (
        &["@/maps"],
        false,
        "maps/part-r-00000/data maps/part-r-00001/data maps/plain",
    ),
    (
        &["@/maps"],
        true,
        "maps/part-r-00000/data maps/part-r-00001/data maps/plain",
    ),
    (&["@/maps/part-r-00001"], false, "maps/part-r-00001/data"),
    (
        &["@/maps/part-r-00001/index"],
        false,
        "maps/part-r-00001/index",
    ),
    (
        &["@/maps/*"],
        false,
        "maps/part-r-00000/data maps/part-r-00001/data maps/plain",
    ),
    (
        &["@/maps/*/data"],
        false,
        "maps/part-r-00000/data maps/part-r-00001/data",
    ),
    (&["@/in"], true, "in/a in/b in/deep/c"),
];

/// Inputs that name nothing, and what is said of them.
const REFUSED: [(&str, &str); 9] = [
    (
        "@/nothing*",
        "nothing*: there is no such file for this pattern",
    ),
    ("@/nothing", "nothing: there is no such file"),
    ("@/odd/m,n", r"m,n (a comma in a name is \,)"),
    ("", "empty"),
    ("@/x1,", "empty"),
    ("@/x1,,@/y1", "empty"),
    ("@/{x,y}1/{a", "@/{x,y}1/{a: a brace is not closed"),
    ("@/x{1,{2,3}", "@/x{1,{2,3}: a brace is not closed"),
    (
        "@/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
        "@/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}: its braces stand for more than",
    ),
];

/// Makes the files in `root`, each with its name in it.
pub(crate) fn make(root: &Path) {
    for name in FILES {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    }
}

/// A row of inputs, and what is to come of them.
pub(crate) struct Listing {
    pub(crate) inputs: Vec<String>,
    pub(crate) folders: Folders,
    /// The names of the files, or a part of a sentence.
    pub(crate) expected: Result<String, String>,
}

/// All rows, of a folder that is called so.
pub(crate) fn listings(root: &str) -> Vec<Listing> {
    let of = |text: &str| text.replace('@', root);
    let all = |inputs: &[&str]| inputs.iter().map(|input| of(input)).collect();
    let found = FOUND.iter().map(|(inputs, names)| Listing {
        inputs: all(inputs),
        folders: Folders::default(),
        expected: Ok((*names).to_owned()),
    });
    let map_files = MAP_FILES.iter().map(|(inputs, recursive, names)| Listing {
        inputs: all(inputs),
        folders: Folders {
            recursive: *recursive,
            map_files: true,
        },
        expected: Ok((*names).to_owned()),
    });
    let refused = REFUSED.iter().map(|(input, said)| Listing {
        inputs: vec![of(input)],
        folders: Folders::default(),
        expected: Err(of(said)),
    });
    let inside = ["@/in", "@/maps"].map(|input| Listing {
        inputs: vec![of(input)],
        folders: Folders {
            recursive: false,
            // A folder of MapFiles is one of folders where they are none.
            map_files: input == "@/in",
        },
        expected: Err("is a folder inside of an input folder".to_owned()),
    });
    let refused = refused.chain(inside);
    found.chain(map_files).chain(refused).collect()
}

/// Whether a launcher has found what a row says; else what it found.
pub(crate) fn check(listing: &Listing, found: Result<Vec<String>, String>) {
    let found = found.map(|names| names.join(" "));
    let is_expected = match (&found, &listing.expected) {
        (Err(said), Err(part)) => said.contains(part.as_str()),
        (found, expected) => found == expected,
    };
    assert!(
        is_expected,
        "{:?}: {found:?}, and not {:?}",
        listing.inputs, listing.expected
    );
}
