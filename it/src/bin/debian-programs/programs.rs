//! What is run of which package: its inputs, its command line, and which of its words must agree.

/// A program as Debian ships it, and one small problem for it.
pub struct PackagedProgram {
    /// What is installed for it.
    pub packages: &'static [&'static str],
    /// The program and its arguments.
    pub line: &'static [&'static str],
    /// Python loads Open MPI, which its file does not show: libpmix must be named.
    pub is_script: bool,
    /// Files of its folder: their names and texts.
    pub inputs: &'static [(&'static str, &'static str)],
    /// For the shell, in its folder, before it runs.
    pub prepare: &'static str,
    /// Which of the inputs it reads as standard input.
    pub stdin: Option<&'static str>,
    /// The file that has its results; none: its output has.
    pub results: Option<&'static str>,
    /// Lines with one of these words are results; none: all lines are.
    pub words: &'static [&'static str],
    /// A line's rest from here on is a time, or another thing that differs from run to run.
    pub until: Option<&'static str>,
}

impl PackagedProgram {
    /// What must be the same under each launcher.
    pub fn results_of(&self, text: &str) -> Vec<String> {
        let lines = text.lines().filter(|line| {
            self.words.is_empty() || self.words.iter().any(|word| line.contains(word))
        });
        let cut = |line: &str| {
            let kept = self.until.and_then(|until| line.split_once(until));
            kept.map_or(line, |(kept, _)| kept).trim().to_owned()
        };
        lines.map(cut).collect()
    }
}

pub const PROGRAMS: &[PackagedProgram] = &[
    PackagedProgram {
        packages: &["lammps"],
        line: &["lmp", "-in", "in.lj", "-log", "none"],
        is_script: false,
        inputs: &[("in.lj", include_str!("inputs/in.lj"))],
        prepare: "",
        stdin: None,
        results: None,
        words: &["final energy"],
        until: None,
    },
    PackagedProgram {
        packages: &["gromacs"],
        line: &[
            "gmx_mpi", "mdrun", "-deffnm", "water", "-ntomp", "1", "-reprod",
        ],
        is_script: false,
        inputs: &[
            ("md.mdp", include_str!("inputs/md.mdp")),
            ("water.top", include_str!("inputs/water.top")),
        ],
        prepare: "gmx grompp -f md.mdp -c /usr/share/gromacs/top/spc216.gro -p water.top -o water.tpr",
        stdin: None,
        results: Some("water.gro"),
        words: &[],
        until: None,
    },
    PackagedProgram {
        packages: &["quantum-espresso", "quantum-espresso-data"],
        line: &["pw.x"],
        is_script: false,
        inputs: &[("si.in", include_str!("inputs/si.in"))],
        prepare: "zcat /usr/share/doc/quantum-espresso/examples/EPW/sic/pp/Si.pz-vbc.UPF.gz >Si.pz-vbc.UPF",
        stdin: Some("si.in"),
        results: None,
        words: &["!    total energy", "JOB DONE"],
        until: None,
    },
    PackagedProgram {
        packages: &["hpcc"],
        line: &["hpcc"],
        is_script: false,
        inputs: &[("hpccinf.txt", include_str!("inputs/hpccinf.txt"))],
        prepare: "",
        stdin: None,
        results: Some("hpccoutf.txt"),
        words: &["Success=", "||Ax-b||_oo/(eps"],
        until: None,
    },
    PackagedProgram {
        packages: &["python3-mpi4py", "python3-h5py-mpi"],
        line: &["/usr/bin/python3", "h5.py"],
        is_script: true,
        inputs: &[("h5.py", include_str!("inputs/h5.py"))],
        prepare: "",
        stdin: None,
        results: None,
        words: &["Open MPI"],
        until: None,
    },
    PackagedProgram {
        packages: &["python3-meep-openmpi", "python3-matplotlib"],
        line: &["/usr/bin/python3", "guide.py"],
        is_script: true,
        inputs: &[("guide.py", include_str!("inputs/guide.py"))],
        prepare: "",
        stdin: None,
        results: None,
        words: &["Ez "],
        until: None,
    },
    PackagedProgram {
        packages: &["netpipe-openmpi"],
        line: &["NPopenmpi", "-u", "1024"],
        is_script: false,
        inputs: &[],
        prepare: "",
        stdin: None,
        results: None,
        words: &[" bytes "],
        until: Some(" bytes "),
    },
];
