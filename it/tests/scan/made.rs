//! Makes programs in a folder.

use std::fs;
use std::io::{Cursor, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use tempfile::TempDir;
use zip::write::{SimpleFileOptions, ZipWriter};

/// The folder, and libraries that have the names of a maker's and nothing of what they do.
pub struct Lab {
    folder: TempDir,
}

/// Libraries, and what they offer.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("libcudart.so.12", &["cudaLaunchKernel", "cudaMalloc"]),
    ("libcuda.so.1", &["cuInit", "cuLaunchKernel"]),
    ("libcublas.so.12", &["cublasCreate_v2"]),
    (
        "libOpenCL.so.1",
        &["clGetPlatformIDs", "clEnqueueNDRangeKernel"],
    ),
    ("libamdhip64.so.6", &["hipMalloc"]),
    ("libxrt_coreutil.so.2", &["xrtDeviceOpen"]),
    ("libopae-c.so.2", &["fpgaOpen"]),
];

impl Lab {
    pub fn new() -> Result<Self> {
        let lab = Self {
            folder: tempfile::tempdir()?,
        };
        for (name, functions) in LIBRARIES {
            let functions = functions.iter();
            let text: String = functions
                .map(|function| format!("int {function}(void) {{ return 0; }}\n"))
                .collect();
            lab.library(name, &text, &[])?;
        }
        Ok(lab)
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A shared library out of C.
    pub fn library(&self, name: &str, text: &str, needs: &[&str]) -> Result<PathBuf> {
        let soname = format!("-Wl,-soname,{name}");
        self.compile(
            name,
            text,
            &[&["-shared", "-fPIC", &soname], needs].concat(),
        )
    }

    /// A program out of C, linked to `needs`: libraries made here, and options.
    pub fn c(&self, name: &str, text: &str, needs: &[&str]) -> Result<PathBuf> {
        self.compile(name, text, needs)
    }

    fn compile(&self, name: &str, text: &str, options: &[&str]) -> Result<PathBuf> {
        let source = self.at(&format!("{name}.c"));
        fs::write(&source, text)?;
        let path = self.at(name);
        let mut command = Command::new("cc");
        command
            .arg("-O1")
            .arg("-w")
            .arg(&source)
            .arg("-o")
            .arg(&path);
        for option in options {
            match option.starts_with('-') {
                true => command.arg(option),
                false => command.arg(self.at(option)),
            };
        }
        run(command)?;
        Ok(path)
    }

    /// A program out of Rust.
    pub fn rust(&self, name: &str, text: &str, options: &[&str]) -> Result<PathBuf> {
        let source = self.at(&format!("{name}.rs"));
        fs::write(&source, text)?;
        let path = self.at(name);
        let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        command
            .args(["--edition=2024", "--cap-lints=allow"])
            .args(options);
        command.arg(&source).arg("-o").arg(&path);
        run(command)?;
        Ok(path)
    }

    /// The same file without its symbols.
    pub fn stripped(&self, path: &Path) -> Result<PathBuf> {
        let stripped = path.with_extension("stripped");
        let mut command = Command::new("strip");
        command.arg("-s").arg(path).arg("-o").arg(&stripped);
        run(command)?;
        Ok(stripped)
    }

    /// A script, or another text.
    pub fn text(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.at(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }

    /// An ELF file of another machine, with these sections.
    pub fn elf(&self, name: &str, of: Architecture, sections: &[(&str, &[u8])]) -> Result<PathBuf> {
        let mut object = Object::new(BinaryFormat::Elf, of, Endianness::Little);
        for (section, bytes) in sections {
            let id = object.add_section(
                Vec::new(),
                section.as_bytes().to_vec(),
                SectionKind::ReadOnlyData,
            );
            object.append_section_data(id, bytes, 8);
        }
        let path = self.at(name);
        fs::write(&path, object.write()?)?;
        Ok(path)
    }

    /// A jar of classes, each with the texts that its constants are, and of other files.
    pub fn jar(
        &self,
        name: &str,
        classes: &[(&str, &[&str])],
        files: &[(&str, &[u8])],
    ) -> Result<PathBuf> {
        let path = self.at(name);
        fs::write(&path, jar(classes, files)?)?;
        Ok(path)
    }
}

/// The bytes of a jar.
pub fn jar(classes: &[(&str, &[&str])], files: &[(&str, &[u8])]) -> Result<Vec<u8>> {
    let mut jar = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    for (name, texts) in classes {
        jar.start_file(format!("{name}.class"), options)?;
        let mut class = b"\xCA\xFE\xBA\xBE\0\0\0\x41".to_vec();
        class.extend(u16::try_from(texts.len() + 1)?.to_be_bytes());
        for text in *texts {
            class.push(1);
            class.extend(u16::try_from(text.len())?.to_be_bytes());
            class.extend(text.bytes());
        }
        jar.write_all(&class)?;
    }
    for (name, bytes) in files {
        jar.start_file(*name, options)?;
        jar.write_all(bytes)?;
    }
    Ok(jar.finish()?.into_inner())
}

fn run(mut command: Command) -> Result<()> {
    let ended = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(
        ended.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&ended.stderr)
    );
    Ok(())
}
