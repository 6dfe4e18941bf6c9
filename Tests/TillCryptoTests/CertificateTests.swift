import Testing
import TillCrypto

@Suite("Certificates are read whole or not at all")
struct CertificateTests {
    /// Apple Root CA - G3 (facts/apple-root-ca-g3.pem), a public certificate.
    private static let text = """
        -----BEGIN CERTIFICATE-----
        MIICQzCCAcmgAwIBAgIILcX8iNLFS5UwCgYIKoZIzj0EAwMwZzEbMBkGA1UEAwwS
        QXBwbGUgUm9vdCBDQSAtIEczMSYwJAYDVQQLDB1BcHBsZSBDZXJ0aWZpY2F0aW9u
        IEF1dGhvcml0eTETMBEGA1UECgwKQXBwbGUgSW5jLjELMAkGA1UEBhMCVVMwHhcN
        MTQwNDMwMTgxOTA2WhcNMzkwNDMwMTgxOTA2WjBnMRswGQYDVQQDDBJBcHBsZSBS
        b290IENBIC0gRzMxJjAkBgNVBAsMHUFwcGxlIENlcnRpZmljYXRpb24gQXV0aG9y
        aXR5MRMwEQYDVQQKDApBcHBsZSBJbmMuMQswCQYDVQQGEwJVUzB2MBAGByqGSM49
        AgEGBSuBBAAiA2IABJjpLz1AcqTtkyJygRMc3RCV8cWjTnHcFBbZDuWmBSp3ZHtf
        TjjTuxxEtX/1H7YyYl3J6YRbTzBPEVoA/VhYDKX1DyxNB0cTddqXl5dvMVztK517
        IDvYuVTZXpmkOlEKMaNCMEAwHQYDVR0OBBYEFLuw3qFYM4iapIqZ3r6966/ayySr
        MA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgEGMAoGCCqGSM49BAMDA2gA
        MGUCMQCD6cHEFl4aXTQY2e3v9GwOAEZLuN+yRhHFD/3meoyhpmvOwgPUnPWTxnS4
        at+qIxUCMG1mihDK1A3UT82NQz60imOlM27jbdoXt2QfyFMm+YhidDkLF1vLUagM
        6BgD56KyKA==
        -----END CERTIFICATE-----
        """

    @Test("Names, dates, fingerprint and key of a real certificate are read")
    func real() throws {
        let certificate = try #require(Certificate(derOrPEM: Array(Self.text.utf8)))
        #expect(certificate.subject == "C=US,O=Apple Inc.,OU=Apple Certification Authority,CN=Apple Root CA - G3")
        #expect(certificate.issuer == certificate.subject)
        #expect(certificate.notBefore == 1_398_881_946)
        #expect(certificate.notAfter == 2_187_800_346)
        #expect(
            hexadecimal(certificate.sha256) == "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179")
        #expect(certificate.hasExtension("2.5.29.19"))
        #expect(!certificate.hasExtension("1.2.840.113635.100.6.2.1"))
        #expect(!certificate.hasExtension("no identifier"))
        let key = try #require(certificate.publicKey)
        #expect(!key.isP256 && !key.isRSA)
        #expect(certificate.isSigned(by: key))
        #expect(
            hexadecimal(Digest.sha256.hash(key.der))
                == "9b219d0fbff36a5fb32090571906bceea68617c833a3f61b81e962a8e64db8af")
        #expect(Certificate(der: certificate.der) == certificate)
    }

    @Test("A byte too many or too few, and bytes that are no certificate, are refused")
    func refused() throws {
        let der = try #require(PEM.decode(Self.text, label: "CERTIFICATE"))
        #expect(der.count == 583)
        #expect(Certificate(der: der + [0]) == nil)
        #expect(Certificate(der: Array(der.dropLast())) == nil)
        #expect(Certificate(der: []) == nil)
        let empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
        #expect(Certificate(derOrPEM: Array(empty.utf8)) == nil)
        #expect(Certificate(derOrPEM: Array("hello".utf8)) == nil)
    }

    @Test("A configured root is trusted while it is valid, to the second; an unconfigured root is not trusted")
    func chain() throws {
        let root = try #require(Certificate(derOrPEM: Array(Self.text.utf8)))
        let store = TrustStore(roots: [root])
        #expect(try store.chain(leaf: root, intermediates: [], at: root.notBefore) == [root])
        for outside in [root.notBefore - 1, root.notAfter, root.notAfter + 1] {
            #expect {
                try store.chain(leaf: root, intermediates: [], at: outside)
            } throws: {
                ($0 as? CertificateChainError)?.isOutsideValidity == true
            }
        }
        #expect {
            try TrustStore(roots: []).chain(leaf: root, intermediates: [root], at: root.notBefore)
        } throws: {
            ($0 as? CertificateChainError)?.isOutsideValidity == false
        }
    }

    @Test("Bytes that are no signed message are refused")
    func messages() throws {
        let der = try #require(PEM.decode(Self.text, label: "CERTIFICATE"))
        // A ContentInfo of plain data: well-formed, but unsigned.
        let plain: [UInt8] =
            [
                0x30, 0x11, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01, 0xA0, 0x04, 0x04, 0x02, 1,
                2,
            ]
        for bytes in [[], [1, 2, 3, 4], der, plain] as [[UInt8]] {
            #expect(throws: SignedMessage.FormatError.notSignedData) { try SignedMessage(bytes) }
        }
    }
}
