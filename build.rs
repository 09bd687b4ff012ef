//! Puts the site into the binary: the style sheets, the icons and, when `GREENROOM_SITE` names the
//! folder that `wasm-bindgen` wrote, the browser's program. Names of what may be cached for ever
//! carry a hash of the content; everything is compressed here, once. What the program and its loader call
//! each other is shortened first: the long names are the part that does not compress.
//!
//! The sandbox's Python goes in as `scripts/build-sandbox` left it, or stays out where it was not built.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::Write as _,
    path::{Path, PathBuf},
};

/// The style sheets, in the order in which they count.
const STYLES: &str = "style/main.css";
/// Those that only some pages need.
const TOOL_STYLES: &str = "style/tools.css";

/// What the first page may weigh on the wire: its program, loader and style, compressed with brotli.
const FIRST_PAGE_BYTES: usize = 400 * 1024;

/// Where the sandbox's Python is, unless `GREENROOM_SANDBOX` says otherwise.
const SANDBOX: &str = "target/sandbox/python.cwasm.zlib";

/// Where a file is served.
enum Place {
    /// Under the package folder, under a name that changes with its content, for every page.
    Hashed,
    /// The same, for some pages only.
    Beside,
    /// Under the package folder, under its own name, which has a hash in it already.
    Package,
    /// At the root, under its own name.
    Root,
}

struct Builder {
    out: PathBuf,
    table: String,
    effort: i32,
    first_page_bytes: usize,
}

impl Builder {
    /// Adds a file and says under which name.
    fn add(&mut self, name: &str, place: &Place, raw: &[u8]) -> Result<String, Box<dyn Error>> {
        let mut hasher = DefaultHasher::new();
        raw.hash(&mut hasher);
        let hash = format!("{:016x}", hasher.finish());
        let served = match place {
            Place::Hashed | Place::Beside => {
                let (stem, ending) = name.rsplit_once('.').ok_or("a file without an ending")?;
                format!("{stem}.{hash}.{ending}")
            }
            Place::Package | Place::Root => name.to_owned(),
        };
        let file = self.out.join(served.replace('/', "_"));
        let beside = |ending: &str| PathBuf::from(format!("{}{ending}", file.display()));
        fs::write(&file, raw)?;
        let small = self.brotli(raw)?;
        if matches!(place, Place::Hashed) {
            self.first_page_bytes += small.len();
        }
        fs::write(beside(".br"), small)?;
        fs::write(beside(".gz"), gzip(raw)?)?;
        let immutable = !matches!(place, Place::Root);
        writeln!(
            self.table,
            "    File {{ name: {served:?}, kind: {:?}, etag: \"\\\"{hash}\\\"\", in_package: {immutable}, \
             raw: include_bytes!({file:?}), brotli: include_bytes!({:?}), gzip: include_bytes!({:?}) }},",
            kind(name),
            beside(".br"),
            beside(".gz"),
        )?;
        Ok(served)
    }

    fn brotli(&self, raw: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let mut out = Vec::new();
        // In blocks as large as can be: a program is the same all over.
        let params = brotli::enc::BrotliEncoderParams {
            quality: self.effort,
            lgwin: 22,
            lgblock: 24,
            size_hint: raw.len(),
            ..Default::default()
        };
        brotli::CompressorWriter::with_params(&mut out, 1 << 16, &params).write_all(raw)?;
        Ok(out)
    }
}

/// The loader and the program with short names for what one gives the other, and the loader without its
/// comments. `wasm-bindgen` puts a hash into each name.
fn shortened(js: &str, wasm: &[u8]) -> Result<(String, Vec<u8>), Box<dyn Error>> {
    let mut names: Vec<(&str, String)> = Vec::new();
    let mut out = wasm.get(..8).ok_or("no program")?.to_vec();
    let mut program = Reader(&wasm[8..]);
    while !program.0.is_empty() {
        let section = program.take(1)?[0];
        let size = program.number()?;
        let body = program.take(size)?;
        // What tools noted beside the program, such as names, is for tools only.
        if section == CUSTOM {
            continue;
        }
        let imports = if section == IMPORTS { Some(renamed(body, &mut names)?) } else { None };
        let body = imports.as_deref().unwrap_or(body);
        out.push(section);
        write_number(&mut out, body.len());
        out.extend_from_slice(body);
    }
    let plain = js
        .lines()
        .map(str::trim)
        .filter(|line| !["//", "/*", "*"].iter().any(|mark| line.starts_with(mark)));
    let mut loader = plain.collect::<Vec<_>>().join("\n");
    for (long, short) in &names {
        loader = loader.replace(&format!("{long}:"), &format!("{short}:"));
    }
    Ok((loader, out))
}

/// A section of a program that it does not need.
const CUSTOM: u8 = 0;
/// The section of a program that says what it is given.
const IMPORTS: u8 = 2;

/// That section with short names for those that have a hash in them.
fn renamed<'a>(
    imports: &'a [u8],
    names: &mut Vec<(&'a str, String)>,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let (mut reader, mut out) = (Reader(imports), Vec::new());
    let count = reader.number()?;
    write_number(&mut out, count);
    for at in 0..count {
        let (module, name) = (reader.text()?, reader.text()?);
        let hash = name.rsplit('_').next().unwrap_or_default();
        let hashed = hash.len() == 16 && hash.bytes().all(|letter| letter.is_ascii_hexdigit());
        let short = if hashed { format!("i{at}") } else { name.to_owned() };
        for text in [module, short.as_str()] {
            write_number(&mut out, text.len());
            out.extend_from_slice(text.as_bytes());
        }
        if reader.take(1)? != [0] {
            return Err("The program is given something that is no function.".into());
        }
        out.push(0);
        write_number(&mut out, reader.number()?);
        if hashed {
            names.push((name, short));
        }
    }
    Ok(out)
}

/// Reads a program as WebAssembly writes it.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Box<dyn Error>> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("The program is cut off.")?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<usize, Box<dyn Error>> {
        let mut number = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.take(1)?[0];
            number |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("The program has a number that is too long.".into())
    }

    fn text(&mut self) -> Result<&'a str, Box<dyn Error>> {
        let length = self.number()?;
        Ok(std::str::from_utf8(self.take(length)?)?)
    }
}

fn write_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn gzip(raw: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(raw)?;
    Ok(encoder.finish()?)
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("webmanifest") => "application/manifest+json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// A style sheet with those it imports put in their places.
fn style_sheet(path: &Path) -> Result<String, Box<dyn Error>> {
    println!("cargo:rerun-if-changed={}", path.display());
    let mut out = String::new();
    for line in fs::read_to_string(path)?.lines() {
        match line.strip_prefix("@import \"").and_then(|rest| rest.strip_suffix("\";")) {
            Some(name) => out.push_str(&style_sheet(&path.with_file_name(name))?),
            None => writeln!(out, "{}", line.trim_start())?,
        }
    }
    Ok(out)
}

/// The files below a folder, by their names from there.
fn files(folder: &Path, prefix: &str) -> Result<Vec<(String, PathBuf)>, Box<dyn Error>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            out.extend(files(&entry.path(), &format!("{name}/"))?);
        } else {
            out.push((name, entry.path()));
        }
    }
    out.sort();
    Ok(out)
}

/// Names the sandbox's Python and its hash for the sources to include.
fn sandbox(out: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed=GREENROOM_SANDBOX");
    let named = env::var_os("GREENROOM_SANDBOX").map(PathBuf::from);
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?);
    let module = root.join(named.unwrap_or_else(|| SANDBOX.into()));
    let hash = module.with_extension("sha256");
    // Cargo looks again and again at what is missing, but only once at a folder that stays empty.
    let folder = module.parent().ok_or("no folder")?;
    fs::create_dir_all(folder)?;
    println!("cargo:rerun-if-changed={}", folder.display());
    let is_there = module.is_file() && hash.is_file();
    let value = if is_there {
        format!("Some((include_bytes!({module:?}), {:?}))", fs::read_to_string(hash)?.trim())
    } else {
        "None".into()
    };
    let source = format!("const MODULE: Option<(&[u8], &str)> = {value};\n");
    Ok(fs::write(out.join("sandbox.rs"), source)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/store/migrations");
    println!("cargo:rerun-if-changed=public");
    println!("cargo:rerun-if-env-changed=GREENROOM_SITE");
    if env::var_os("CARGO_FEATURE_SSR").is_none() {
        return Ok(());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    sandbox(&out)?;
    let site = env::var_os("GREENROOM_SITE").map(PathBuf::from);
    let effort = if site.is_some() { 11 } else { 4 };
    let mut builder =
        Builder { out: out.clone(), table: String::new(), effort, first_page_bytes: 0 };
    let sheet = style_sheet(Path::new(STYLES))?;
    let css = builder.add("greenroom.css", &Place::Hashed, sheet.as_bytes())?;
    let sheet = style_sheet(Path::new(TOOL_STYLES))?;
    let tools = builder.add("tools.css", &Place::Beside, sheet.as_bytes())?;
    for (name, path) in files(Path::new("public"), "")? {
        builder.add(&name, &Place::Root, &fs::read(path)?)?;
    }
    let (mut js, mut wasm) = (None, None);
    if let Some(site) = site {
        println!("cargo:rerun-if-changed={}", site.display());
        for (name, path) in files(&site, "")? {
            if name.starts_with("snippets/") {
                builder.add(&name, &Place::Package, &fs::read(path)?)?;
            }
        }
        let (loader, program) = shortened(
            &fs::read_to_string(site.join("greenroom.js"))?,
            &fs::read(site.join("greenroom_bg.wasm"))?,
        )?;
        js = Some(builder.add("greenroom.js", &Place::Hashed, loader.as_bytes())?);
        wasm = Some(builder.add("greenroom.wasm", &Place::Hashed, &program)?);
    }
    if builder.first_page_bytes > FIRST_PAGE_BYTES {
        let (is, may) = (builder.first_page_bytes, FIRST_PAGE_BYTES);
        return Err(
            format!("The first page weighs {is} bytes on the wire, and may weigh {may}.").into()
        );
    }
    let program = match (js, wasm) {
        (Some(js), Some(wasm)) => format!("Some(({js:?}, {wasm:?}))"),
        _ => "None".into(),
    };
    let source = format!(
        "/// The files of the site.\npub static FILES: &[File] = &[\n{}];\n\
         /// The name of the style sheet.\npub const STYLE: &str = {css:?};\n\
         /// The name of the style sheet that only some pages need.\npub const TOOL_STYLE: &str = {tools:?};\n\
         /// The names of the browser's program and of its loader, where they were built in.\n\
         pub const PROGRAM: Option<(&str, &str)> = {program};\n",
        builder.table
    );
    fs::write(out.join("site.rs"), source)?;
    Ok(())
}
