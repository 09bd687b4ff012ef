//! Whom we trust: the authorities that the system trusts, read when the first certificate is shown to us.
//! There are hundreds of them, and whoever asks nobody need not wait for them.

use std::sync::{Arc, OnceLock};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use rustls_platform_verifier::Verifier;

/// How connections are encrypted, and who may be at their other end.
pub fn trust() -> Result<ClientConfig, Error> {
    // Another part of the program may have chosen already; then that choice stands.
    drop(ring::default_provider().install_default());
    let provider = Arc::new(ring::default_provider());
    let judge = Late { provider: provider.clone(), judge: OnceLock::new() };
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(judge))
        .with_no_client_auth())
}

/// The system's own judgement, made up when it is first asked for.
#[derive(Debug)]
struct Late {
    provider: Arc<CryptoProvider>,
    judge: OnceLock<Verifier>,
}

impl Late {
    fn judge(&self) -> Result<&Verifier, Error> {
        if let Some(judge) = self.judge.get() {
            return Ok(judge);
        }
        // Two that ask at once both read, and the first one's counts.
        let judge = Verifier::new(self.provider.clone())?;
        Ok(self.judge.get_or_init(|| judge))
    }
}

impl ServerCertVerifier for Late {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let judge = self.judge()?;
        judge.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
