//! Who makes pictures, and where they are kept.

use std::path::PathBuf;

use super::{ConfigError, refers};

/// How an image service is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ImagesStyle {
    /// As fal is.
    Fal,
    /// As OpenAI's image API is.
    Openai,
}

/// Who makes pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Images {
    /// Nobody.
    Off,
    /// We ourselves, as a demo.
    Demo,
    /// A service.
    Service(ImagesService),
}

/// A service that makes pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagesService {
    /// Its base address.
    pub url: String,
    /// How it is asked.
    pub style: ImagesStyle,
    /// The model; empty for the service's usual one.
    pub model: String,
    /// Where its key is; nothing when it needs none.
    pub key_ref: String,
    /// Further hosts that its files may lie on.
    pub hosts: Vec<String>,
}

/// Where pictures are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptFiles {
    /// In a folder.
    Folder(PathBuf),
    /// In a bucket of an S3-compatible service.
    Bucket {
        /// Its name.
        name: String,
        /// What stands before every file's name.
        prefix: String,
        /// The service's address; empty for Amazon's.
        endpoint: String,
        /// The region.
        region: String,
        /// Where the name of the key is.
        key_id_ref: String,
        /// Where the key is.
        secret_ref: String,
    },
}

/// The image service at this address.
pub(super) fn service(
    url: String,
    style: Option<ImagesStyle>,
    model: String,
    key_ref: String,
    hosts: Vec<String>,
) -> Result<ImagesService, ConfigError> {
    let refuse = |rule| Err(ConfigError::Images(rule));
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return refuse("GREENROOM_IMAGES_URL must begin with http:// or https://.");
    }
    let at_fal = url.trim_start_matches("https://").starts_with("fal.run");
    let usual = if at_fal { ImagesStyle::Fal } else { ImagesStyle::Openai };
    let style = style.unwrap_or(usual);
    if style == ImagesStyle::Openai && model.trim().is_empty() {
        return refuse("GREENROOM_IMAGES_URL needs GREENROOM_IMAGES_MODEL.");
    }
    if !key_ref.is_empty() && !refers(&key_ref) {
        return refuse(
            "GREENROOM_IMAGES_KEY says where the key is, as env:NAME or file:/path, and is not the \
             key.",
        );
    }
    Ok(ImagesService { url, style, model: model.trim().to_owned(), key_ref, hosts })
}

/// Where pictures are kept: in the folder, unless a bucket is named.
pub(super) fn kept_files(
    url: String,
    folder: PathBuf,
    endpoint: String,
    region: String,
    [key_id_ref, secret_ref]: [String; 2],
) -> Result<KeptFiles, ConfigError> {
    if url.trim().is_empty() {
        return Ok(KeptFiles::Folder(folder));
    }
    let refuse = |rule| Err(ConfigError::Files(rule));
    let Some(place) = url.trim().strip_prefix("s3://").filter(|place| !place.is_empty()) else {
        return refuse("GREENROOM_FILES_URL must be s3://BUCKET or s3://BUCKET/PREFIX.");
    };
    if !refers(&key_id_ref) || !refers(&secret_ref) {
        return refuse(
            "GREENROOM_FILES_KEY_ID and GREENROOM_FILES_SECRET say where the key is, as env:NAME or \
             file:/path, and are not the key.",
        );
    }
    let (name, prefix) = place.split_once('/').unwrap_or((place, ""));
    let (name, prefix) = (name.to_owned(), prefix.trim_matches('/').to_owned());
    Ok(KeptFiles::Bucket { name, prefix, endpoint, region, key_id_ref, secret_ref })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::args, *};
    use crate::config::ServeArgs;

    #[test]
    fn an_image_service_is_asked_in_the_style_of_its_address() {
        let with = |url: &str, model: &str, key: &str| {
            let mut args = args(None, None);
            args.images_url = Some(url.into());
            args.images_model = Some(model.into());
            args.images_key = Some(key.into());
            args.resolve().map(|config| config.images)
        };
        let style = |images: Images| match images {
            Images::Service(service) => Some(service.style),
            Images::Off | Images::Demo => None,
        };

        assert_eq!(with("", "", "").unwrap(), Images::Demo);
        let fal = with("https://fal.run/fal-ai/flux/schnell", "", "env:FAL_KEY").unwrap();
        assert_eq!(style(fal), Some(ImagesStyle::Fal));
        let openai = with("https://api.openai.com/v1", "gpt-image-1", "").unwrap();
        assert_eq!(style(openai), Some(ImagesStyle::Openai));
        assert!(with("https://api.openai.com/v1", "", "").is_err());
        assert!(with("ftp://fal.run", "", "").is_err());
        let error = with("https://fal.run", "", "sk-secret").unwrap_err().to_string();
        assert!(!error.contains("sk-secret"), "{error}");
        let off = ServeArgs { no_images: true, ..args(None, None) };
        assert_eq!(off.resolve().unwrap().images, Images::Off);
    }

    #[test]
    fn pictures_are_kept_in_the_data_folder_unless_a_bucket_is_named() {
        let with = |url: Option<&str>| {
            let files_url = url.map(Into::into);
            ServeArgs { files_url, ..args(None, None) }.resolve().map(|config| config.files)
        };

        assert_eq!(with(None).unwrap(), KeptFiles::Folder("d/pictures".into()));
        let bucket = with(Some("s3://mine/some/where/")).unwrap();
        let KeptFiles::Bucket { name, prefix, .. } = &bucket else { panic!("{bucket:?}") };
        assert_eq!((name.as_str(), prefix.as_str()), ("mine", "some/where"));
        for bad in ["s3://", "https://mine", "mine"] {
            assert!(with(Some(bad)).is_err(), "{bad}");
        }
        let secret = ServeArgs {
            files_url: Some("s3://mine".into()),
            files_secret: "hunter2".into(),
            ..args(None, None)
        };
        let error = secret.resolve().unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}
