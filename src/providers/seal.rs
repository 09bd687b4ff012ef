//! Keys that were pasted: kept sealed, and opened for the one origin that they belong to.
//!
//! What seals them is a file of its own, outside the database, that is made when the first key is
//! pasted. Whoever has the database alone has no key.

use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use chacha20poly1305::{
    ChaCha20Poly1305, KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Nonce, Payload},
};
use ring::rand::{SecureRandom, SystemRandom};

use super::{Fault, Key, ProviderError};
use crate::domain::model::{SEALED, Service};

/// How long the sealing key is.
const KEY_BYTES: usize = 32;
/// The mark of what is sealed by XChaCha20-Poly1305. What has none was sealed with the shorter nonce of
/// ChaCha20-Poly1305, and is still opened.
const EXTENDED: &str = "x.";
/// The longest key that can be pasted.
const MAX_PASTED: usize = 4000;
/// The shortest key whose last letters are shown, and how many those are.
const MIN_HINTED: usize = 16;
const HINT: usize = 4;

/// What seals keys.
#[derive(Clone, Debug)]
pub struct Seal {
    file: PathBuf,
}

impl Seal {
    /// Seals with the key in this file, which need not be there yet.
    pub fn at(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }

    /// A pasted key as a service keeps it: its last letters for people, and the rest for nobody. It
    /// belongs to this service at this origin.
    pub fn close(&self, pasted: &str, service: &Service) -> Result<String, ProviderError> {
        let pasted = pasted.trim();
        let fits = (1..=MAX_PASTED).contains(&pasted.len())
            && pasted.bytes().all(|byte| (0x21..0x7f).contains(&byte));
        if !fits {
            let told = "what was pasted is no key: plain letters, digits and signs in one piece";
            return Err(missing(told));
        }
        let key = self.key(Missing::Make)?;
        let mut nonce = XNonce::default();
        SystemRandom::new().fill(&mut nonce).map_err(|_| missing("there is no randomness"))?;
        let payload = Payload { msg: pasted.as_bytes(), aad: &belongs_to(service) };
        let sealed = XChaCha20Poly1305::new(&key.into())
            .encrypt(&nonce, payload)
            .map_err(|_| missing("the key cannot be sealed"))?;
        let whole = [nonce.as_slice(), &sealed].concat();
        let hint = if pasted.len() >= MIN_HINTED { &pasted[pasted.len() - HINT..] } else { "" };
        // What parts the two cannot be in the hint.
        let hint = if hint.contains(':') { "" } else { hint };
        Ok(format!("{SEALED}{hint}:{EXTENDED}{}", BASE64_STANDARD_NO_PAD.encode(whole)))
    }

    /// The key of a service; nothing opens it for another service or another origin.
    pub fn open(&self, service: &Service) -> Result<Key, ProviderError> {
        let unread = || missing("the pasted key cannot be opened here; paste it again");
        let kept = service.key_ref.strip_prefix(SEALED).and_then(|kept| kept.split_once(':'));
        let (_, kept) = kept.ok_or_else(unread)?;
        let key = self.key(Missing::Refuse)?;
        let aad = belongs_to(service);
        let opened = match kept.strip_prefix(EXTENDED) {
            Some(kept) => opened::<XChaCha20Poly1305>(key, kept, &aad),
            None => opened::<ChaCha20Poly1305>(key, kept, &aad),
        };
        opened.map(Key::new).ok_or_else(unread)
    }

    fn key(&self, when: Missing) -> Result<[u8; KEY_BYTES], ProviderError> {
        let unread = |error: std::io::Error| {
            missing(format!("the file {} cannot be used ({error})", self.file.display()))
        };
        let bytes = match fs::read(&self.file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound && when == Missing::Make => {
                self.make().map_err(unread)?;
                // Another server may have made it meanwhile.
                fs::read(&self.file).map_err(unread)?
            }
            Err(error) => return Err(unread(error)),
        };
        let about = fs::metadata(&self.file).map_err(unread)?;
        if about.permissions().mode() & 0o077 != 0 {
            let told = format!(
                "others can read the file {}; close it with chmod 600",
                self.file.display()
            );
            return Err(missing(told));
        }
        bytes.try_into().map_err(|_| {
            missing(format!(
                "the file {} does not have the {KEY_BYTES} bytes that seal keys",
                self.file.display()
            ))
        })
    }

    /// Makes the file: it is there whole, or not at all.
    fn make(&self) -> std::io::Result<()> {
        let mut bytes = [0; KEY_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(std::io::Error::other)?;
        let mut name = self.file.as_os_str().to_owned();
        name.push(format!(".{}", uuid::Uuid::now_v7().simple()));
        let unfinished = PathBuf::from(name);
        let linked =
            write_new(&unfinished, &bytes).and_then(|()| fs::hard_link(&unfinished, &self.file));
        fs::remove_file(&unfinished)?;
        let made = match linked {
            // Where there are no links, it is made where it shall be.
            Err(error)
                if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) =>
            {
                write_new(&self.file, &bytes)
            }
            linked => linked,
        };
        match made {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }
}

fn write_new(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// What happens when there is no key to seal with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Refuse,
}

/// What was sealed, if this key sealed it for this: the nonce comes first.
fn opened<C: Aead + KeyInit>(key: [u8; KEY_BYTES], kept: &str, aad: &[u8]) -> Option<String> {
    let whole = BASE64_STANDARD_NO_PAD.decode(kept).ok()?;
    let (nonce, sealed) = whole.split_at_checked(size_of::<Nonce<C>>())?;
    let nonce = Nonce::<C>::try_from(nonce).ok()?;
    let cipher = C::new_from_slice(&key).ok()?;
    String::from_utf8(cipher.decrypt(&nonce, Payload { msg: sealed, aad }).ok()?).ok()
}

/// What a sealed key is tied to.
fn belongs_to(service: &Service) -> Vec<u8> {
    format!("greenroom {} {}", service.service, service.origin()).into_bytes()
}

fn missing(told: impl Into<String>) -> ProviderError {
    ProviderError::new(Fault::NoKey, told.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASTED: &str = "sk-c4n4ry-0123456789-wxyz";

    fn service(word: &str, base_url: &str) -> Service {
        Service { service: word.into(), base_url: base_url.into(), ..Service::default() }
    }

    #[test]
    fn a_key_opens_for_its_own_service_and_origin_and_for_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let seal = Seal::at(folder.path().join("seal.key"));
        let mut mine = service("mine", "https://a.example/v1");

        mine.key_ref = seal.close(PASTED, &mine).unwrap();

        assert!(mine.key_ref.starts_with("sealed:wxyz:x.") && !mine.key_ref.contains("c4n4ry"));
        assert_eq!(mine.clone().shown().key_ref, "sealed:…wxyz");
        assert_eq!(seal.open(&mine).unwrap().expose(), PASTED);
        let moved = |base_url: &str| Service { base_url: base_url.into(), ..mine.clone() };
        assert!(seal.open(&moved("https://a.example/v2")).is_ok(), "a path is no other origin");
        for elsewhere in ["http://a.example/v1", "https://a.example:444/v1", "https://b.example/v1"]
        {
            assert!(seal.open(&moved(elsewhere)).is_err(), "{elsewhere}");
        }
        assert!(seal.open(&Service { service: "other".into(), ..mine.clone() }).is_err());
        let other = Seal::at(folder.path().join("other.key"));
        assert!(other.open(&mine).is_err());
        other.close(PASTED, &mine).unwrap();
        assert!(other.open(&mine).is_err());
        // The same key never looks the same twice.
        assert_ne!(seal.close(PASTED, &mine).unwrap(), mine.key_ref);
    }

    #[test]
    fn a_key_that_was_sealed_with_the_shorter_nonce_opens() {
        use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("seal.key");
        let seal = Seal::at(&file);
        let mut mine = service("mine", "https://a.example");
        seal.close(PASTED, &mine).unwrap();
        let key = UnboundKey::new(&CHACHA20_POLY1305, &fs::read(&file).unwrap()).unwrap();
        let (nonce, aad) = ([7; NONCE_LEN], Aad::from("greenroom mine https://a.example"));
        let mut sealed = PASTED.as_bytes().to_vec();
        LessSafeKey::new(key)
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed)
            .unwrap();

        let whole = BASE64_STANDARD_NO_PAD.encode([nonce.as_slice(), &sealed].concat());
        mine.key_ref = format!("sealed:wxyz:{whole}");

        assert_eq!(seal.open(&mine).unwrap().expose(), PASTED);
    }

    #[test]
    fn the_file_is_its_owners_alone_and_is_not_used_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("seal.key");
        let seal = Seal::at(&file);
        let mut mine = service("mine", "https://a.example");
        mine.key_ref = seal.close(PASTED, &mine).unwrap();

        let about = fs::metadata(&file).unwrap();
        assert_eq!((about.len(), about.permissions().mode() & 0o777), (32, 0o600));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(seal.open(&mine).unwrap_err().message.contains("chmod 600"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, "short").unwrap();
        assert!(seal.open(&mine).is_err());
    }

    #[test]
    fn what_is_no_key_is_not_sealed_and_a_short_one_shows_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let seal = Seal::at(folder.path().join("seal.key"));
        let mine = service("mine", "https://a.example");

        for bad in ["", " ", "a b", "a\nb", "clé", &"k".repeat(4001)] {
            assert!(seal.close(bad, &mine).is_err(), "{bad:?}");
        }
        assert!(seal.close("short-key", &mine).unwrap().starts_with("sealed::"));
    }
}
