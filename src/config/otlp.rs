//! Where traces are sent beside the database, and how.

use clap::builder::FalseyValueParser;

use super::{ConfigError, refers};

/// The path at which receivers take traces, behind their base address.
const TRACES: &str = "/v1/traces";

/// How traces are sent.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct OtlpArgs {
    /// Send traces to a receiver of OTLP over HTTP at this base address, such as a collector of
    /// OpenTelemetry (http://127.0.0.1:4318) or Langfuse (https://cloud.langfuse.com/api/public/otel).
    #[arg(long, env = "GREENROOM_OTLP_URL", hide_env_values = true)]
    pub otlp_url: Option<String>,

    /// Where the headers for it are: env:NAME or file:/path, with name=value and commas between them.
    #[arg(long, env = "GREENROOM_OTLP_HEADERS", hide_env_values = true)]
    pub otlp_headers: Option<String>,

    /// Send prompts, answers, and what tools are given and give along with the traces.
    #[arg(long, env = "GREENROOM_OTLP_CONTENT", value_parser = FalseyValueParser::new())]
    pub otlp_content: bool,

    /// Which version of OpenTelemetry's conventions names things.
    #[arg(long, env = "GREENROOM_OTLP_NAMES", value_enum, default_value = "present")]
    pub otlp_names: OtlpNames,

    /// The receiver's base address, as OpenTelemetry's own tools read it.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide = true, hide_env_values = true)]
    pub otel_endpoint: Option<String>,

    /// The receiver's whole address for traces, as OpenTelemetry's own tools read it.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", hide = true, hide_env_values = true)]
    pub otel_traces_endpoint: Option<String>,

    /// How what is sent is compressed, as OpenTelemetry's own tools read it: gzip or none.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_COMPRESSION", hide = true)]
    pub otel_compression: Option<String>,
}

/// Which version of OpenTelemetry's conventions names things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum OtlpNames {
    /// From 1.37 on: gen_ai.provider.name, gen_ai.input.messages.
    #[default]
    Present,
    /// Up to 1.36: gen_ai.system, gen_ai.prompt.
    Older,
}

/// A receiver of traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Otlp {
    /// The whole address.
    pub url: String,
    /// Where further headers are; nothing when there are none.
    pub headers_ref: String,
    /// Whether what was said goes along.
    pub content: bool,
    /// How things are named.
    pub names: OtlpNames,
    /// Whether what is sent is compressed.
    pub gzip: bool,
}

/// The variables in which OpenTelemetry's own tools expect headers; the first that is set counts.
const OTEL_HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

/// The receiver, when an address for one is set. `is_set` says which variables have something in them.
pub(super) fn otlp(
    args: OtlpArgs,
    is_set: impl Fn(&str) -> bool,
) -> Result<Option<Otlp>, ConfigError> {
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let base = |url: String| {
        let url = url.trim().trim_end_matches('/').to_owned();
        if url.ends_with(TRACES) { url } else { format!("{url}{TRACES}") }
    };
    let whole = given(args.otel_traces_endpoint).map(|url| url.trim().to_owned());
    let url = given(args.otlp_url).map(base).or(whole).or(given(args.otel_endpoint).map(base));
    let Some(url) = url else { return Ok(None) };
    let refuse = |rule| Err(ConfigError::Otlp(rule));
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return refuse("The address to which traces are sent must begin with http:// or https://.");
    }
    let headers_ref = match given(args.otlp_headers) {
        Some(reference) if refers(&reference) => reference,
        Some(_) => {
            return refuse(
                "GREENROOM_OTLP_HEADERS says where the headers are, as env:NAME or file:/path, and is \
                 not the headers.",
            );
        }
        None => {
            let known = OTEL_HEADERS.iter().find(|name| is_set(name));
            known.map(|name| format!("env:{name}")).unwrap_or_default()
        }
    };
    let gzip = match args.otel_compression.as_deref().map(str::trim) {
        Some("gzip") => true,
        None | Some("" | "none") => false,
        Some(_) => return refuse("OTEL_EXPORTER_OTLP_COMPRESSION must be gzip or none."),
    };
    let (content, names) = (args.otlp_content, args.otlp_names);
    Ok(Some(Otlp { url, headers_ref, content, names, gzip }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: impl Fn(&mut OtlpArgs)) -> Result<Option<Otlp>, ConfigError> {
        let mut args = OtlpArgs::default();
        set(&mut args);
        otlp(args, |name| name == "OTEL_EXPORTER_OTLP_HEADERS")
    }

    #[test]
    fn traces_are_sent_when_an_address_is_set_ours_or_the_usual_one() {
        let url = |set: fn(&mut OtlpArgs)| with(set).unwrap().map(|otlp| otlp.url);

        assert_eq!(url(|_| {}), None);
        let ours = url(|args| {
            args.otlp_url = Some("https://cloud.langfuse.com/api/public/otel/".into());
            args.otel_endpoint = Some("http://other:4318".into());
        });
        let whole = "https://cloud.langfuse.com/api/public/otel/v1/traces";
        assert_eq!(ours.as_deref(), Some(whole));
        let base = url(|args| args.otel_endpoint = Some("http://h:4318".into()));
        assert_eq!(base.as_deref(), Some("http://h:4318/v1/traces"));
        let exact = url(|args| args.otel_traces_endpoint = Some("http://h/in".into()));
        assert_eq!(exact.as_deref(), Some("http://h/in"));
    }

    #[test]
    fn headers_are_referred_to_and_never_given() {
        let told = with(|args| {
            args.otlp_url = Some("http://h".into());
            args.otlp_headers = Some("authorization=secret".into());
        });
        let told = told.unwrap_err().to_string();
        assert!(told.contains("env:NAME") && !told.contains("secret"), "{told}");
        let usual = with(|args| args.otlp_url = Some("http://h".into())).unwrap().unwrap();
        assert_eq!(usual.headers_ref, "env:OTEL_EXPORTER_OTLP_HEADERS");
        assert!(!usual.content, "what was said stays here unless somebody wants it otherwise");
        assert!(with(|args| args.otlp_url = Some("ftp://h".into())).is_err());
        let odd = with(|args| {
            args.otlp_url = Some("http://h".into());
            args.otel_compression = Some("zstd".into());
        });
        assert!(odd.is_err());
    }
}
